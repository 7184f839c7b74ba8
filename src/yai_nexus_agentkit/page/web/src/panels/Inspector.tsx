import { useDeferredValue, useState } from "react";
import type { View } from "../agent/store";
import { IconButton } from "../ui/icons";

const quiet = /CONTENT|ARGS/;
/** Shared state, and every event as it came. */
export function Inspector({ view, close }: { view: View; close: () => void }) {
  const [tab, setTab] = useState<"state" | "events">("state"),
    [filter, setFilter] = useState(""),
    [deltas, setDeltas] = useState(false);
  const events = useDeferredValue(view.events),
    begun = events[0]?.at ?? 0;
  const shown = events
    .filter(
      ({ event }) =>
        (deltas || !quiet.test(event.type)) &&
        (!filter || JSON.stringify(event).toLowerCase().includes(filter.toLowerCase())),
    )
    .slice(-500);
  return (
    <aside className="inspector" aria-label="Inspector">
      <header className="row">
        <div role="tablist" className="segments tabs">
          {(["state", "events"] as const).map((name) => (
            <button key={name} role="tab" aria-selected={tab === name} onClick={() => setTab(name)}>
              {name === "state" ? "State" : `Events (${events.length})`}
            </button>
          ))}
        </div>
        <span className="grow" />
        <IconButton icon="x" label="Close the inspector" onClick={close} />
      </header>
      {tab === "state" ? (
        <pre tabIndex={0} className="fill">
          {JSON.stringify(view.state ?? {}, null, 2)}
        </pre>
      ) : (
        <>
          <div className="row">
            <input
              type="search"
              aria-label="Filter events"
              placeholder="Filter"
              value={filter}
              onChange={(e) => setFilter(e.target.value)}
            />
            <label className="check">
              <input type="checkbox" checked={deltas} onChange={(e) => setDeltas(e.target.checked)} />
              deltas
            </label>
            <IconButton
              icon="copy"
              label="Copy all as JSON lines"
              onClick={() =>
                void navigator.clipboard?.writeText(events.map(({ event }) => JSON.stringify(event)).join("\n"))
              }
            />
          </div>
          <ol className="fill events">
            {shown.map(({ at, event }, n) => (
              <li key={n}>
                <details>
                  <summary>
                    <time>{((at - begun) / 1000).toFixed(2)}</time> {event.type}{" "}
                    <span className="muted">
                      {(event as any).stepName ??
                        (event as any).toolCallName ??
                        (event as any).name ??
                        (event as any).activityType ??
                        ""}
                    </span>
                  </summary>
                  <pre>{JSON.stringify(event, null, 2)}</pre>
                </details>
              </li>
            ))}
          </ol>
        </>
      )}
    </aside>
  );
}
