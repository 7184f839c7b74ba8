import { X } from "lucide-react";
import { memo, useDeferredValue, useState } from "react";
import { textOf } from "../agent/json.ts";
import type { ThreadStore } from "../agent/store.ts";
import type { View } from "../agent/view.ts";
import { CopyButton } from "../ui/CopyButton.tsx";
import { IconButton } from "../ui/IconButton.tsx";

type Tab = "state" | "events";
type Given = { store: ThreadStore; view: View; inspector: string | null | undefined; close: () => void };

/** What the agent and this page share: its state, and every event as it came. */
export function StatePanel({ store, view, inspector, close }: Given) {
  const [tab, setTab] = useState<Tab>("state");
  const received = useDeferredValue(view.received);
  const tabs: [Tab, string][] = [
    ["state", "State"],
    ["events", `Events (${received})`],
  ];
  return (
    <aside className="panel" aria-label="State and events">
      <header className="row">
        <div className="segments" role="group" aria-label="What to show">
          {tabs.map(([name, label]) => (
            <button key={name} type="button" aria-pressed={tab === name} onClick={() => setTab(name)}>
              {label}
            </button>
          ))}
        </div>
        <span className="grow" />
        <IconButton icon={X} label="Close the panel" onClick={close} />
      </header>
      {tab === "state" ? (
        <pre tabIndex={0} className="fill" aria-label="State">
          {JSON.stringify(view.state ?? {}, null, 2)}
        </pre>
      ) : (
        <Events received={received} store={store} />
      )}
      {inspector && <a href={inspector}>Open the inspector</a>}
    </aside>
  );
}

const PIECES = /CONTENT|ARGS/;
const SHOWN = 300;

/** The log grows in place; `received` says when. */
const Events = memo(({ store }: { store: ThreadStore; received: number }) => {
  const { log } = store;
  const first = store.snapshot().received - log.length;
  const [filter, setFilter] = useState("");
  const [pieces, setPieces] = useState(false);
  const wanted = filter.toLowerCase();
  const found = log
    .map((one, n) => ({ ...one, number: first + n }))
    .filter(({ event }) => {
      if (!pieces && PIECES.test(event.type)) return false;
      return !wanted || JSON.stringify(event).toLowerCase().includes(wanted);
    });
  return (
    <>
      <div className="row">
        <input
          type="search"
          autoComplete="off"
          aria-label="Filter events"
          placeholder="Filter"
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
        <label className="check">
          <input type="checkbox" checked={pieces} onChange={(event) => setPieces(event.target.checked)} />
          pieces
        </label>
        <CopyButton
          label="Copy all as lines of JSON"
          text={() => log.map((one) => JSON.stringify(one.event)).join("\n")}
        />
      </div>
      <ol className="fill events" tabIndex={0} aria-label="Events">
        {found.slice(-SHOWN).map(({ at, event, number }) => (
          <li key={number}>
            <details>
              <summary>
                <time>{((at - (log[0]?.at ?? 0)) / 1000).toFixed(2)}</time> {event.type}
                <span className="muted cut">{nameOf(event)}</span>
              </summary>
              <pre tabIndex={0}>{JSON.stringify(event, null, 2)}</pre>
            </details>
          </li>
        ))}
      </ol>
    </>
  );
});

function nameOf(event: object): string {
  const { stepName, toolCallName, name, activityType } = event as Record<string, unknown>;
  return textOf(stepName) ?? textOf(toolCallName) ?? textOf(name) ?? textOf(activityType) ?? "";
}
