import { memo, useEffect, useMemo, useState } from "react";
import { useStickToBottom } from "use-stick-to-bottom";
import type { ThreadStore, View } from "../agent/store";
import { timeline, type Turn } from "../agent/timeline";
import { Icon, IconButton } from "../ui/icons";
import { BlockView } from "./Blocks";
import { Composer } from "./Composer";
import { Questions } from "./Questions";

type UserBlock = Extract<Turn["blocks"][number], { kind: "user" }>;

function UserTurn({ block, store, busy }: { block: UserBlock; store: ThreadStore; busy: boolean }) {
  const { content } = block.message,
    text =
      typeof content === "string" ? content : content.flatMap((p) => (p.type === "text" ? [p.text] : [])).join("\n");
  const media = typeof content === "string" ? [] : (content.filter((p) => p.type !== "text") as any[]);
  const [editing, setEditing] = useState(false),
    [draft, setDraft] = useState(text);
  if (editing)
    return (
      <form
        className="editing"
        onSubmit={(event) => {
          event.preventDefault();
          setEditing(false);
          void store.send(media.length ? [{ type: "text", text: draft }, ...media] : draft, block.index);
        }}
      >
        <textarea
          aria-label="Edit message"
          value={draft}
          autoFocus
          onChange={(e) => setDraft(e.target.value)}
          onKeyDown={(e) => {
            if (e.key === "Escape") setEditing(false);
          }}
        />
        <div className="actions">
          <button className="button primary">Send</button>
          <button type="button" className="button ghost" onClick={() => setEditing(false)}>
            Cancel
          </button>
        </div>
      </form>
    );
  return (
    <div className="user">
      {media.length > 0 && (
        <div className="media">
          {media.map((p, n) =>
            p.type === "image" ? (
              <img
                key={n}
                alt={p.metadata?.filename ?? "image"}
                src={p.source.type === "data" ? `data:${p.source.mimeType};base64,${p.source.value}` : p.source.value}
              />
            ) : (
              <span key={n} className="file">
                <Icon name="clip" />
                {p.metadata?.filename ?? p.type}
              </span>
            ),
          )}
        </div>
      )}
      {text && <div className="bubble">{text}</div>}
      <div className="tools">
        <IconButton
          icon="pencil"
          label="Edit message"
          disabled={busy}
          onClick={() => {
            setDraft(text);
            setEditing(true);
          }}
        />
        <IconButton icon="copy" label="Copy message" onClick={() => void navigator.clipboard?.writeText(text)} />
      </div>
    </div>
  );
}

/** Memoized by what is drawn, since the client gives new objects with every event. */
const TurnView = memo(
  ({
    turn,
    store,
    streaming,
    running,
    last,
    asked,
  }: {
    turn: Turn;
    store: ThreadStore;
    streaming: string | null;
    running: boolean;
    last: boolean;
    asked: string;
  }) => {
    if (turn.role === "user")
      return (
        <article aria-label="You">
          <h2 className="sr">You</h2>
          <UserTurn block={turn.blocks[0] as UserBlock} store={store} busy={running} />
        </article>
      );
    const text = turn.blocks.flatMap((b) => (b.kind === "text" ? [b.message.content ?? ""] : [])).join("\n\n");
    return (
      <article className="assistant" aria-label="Agent" aria-busy={last && running}>
        <h2 className="sr">Agent</h2>
        {turn.blocks.map((block) => (
          <BlockView
            key={block.id}
            block={block}
            streaming={streaming}
            running={last && running}
            asked={block.kind === "call" && asked.split(" ").includes(block.id)}
          />
        ))}
        {!(last && running) && text && (
          <div className="tools">
            <IconButton icon="copy" label="Copy answer" onClick={() => void navigator.clipboard?.writeText(text)} />
            {last && !asked.trim() && (
              <IconButton icon="refresh" label="Regenerate" onClick={() => void store.regenerate()} />
            )}
          </div>
        )}
      </article>
    );
  },
  (a, b) =>
    a.last === b.last &&
    a.running === b.running &&
    a.asked === b.asked &&
    !b.last &&
    JSON.stringify(a.turn) === JSON.stringify(b.turn),
);

const EXAMPLES = [
  "Compare the weather in Berlin, Oslo and Paris",
  "Pay Ada 50",
  "Book a flight",
  "Ask the librarian",
  "Make a plan",
  "Quarterly report",
];

export function Thread({ store, view, title }: { store: ThreadStore; view: View; title: string }) {
  const { scrollRef, contentRef, isAtBottom, scrollToBottom } = useStickToBottom({
    resize: "instant",
    initial: "instant",
  });
  const turns = useMemo(() => timeline(view), [view.messages, view.extras, view.subagents]);
  const [draft] = useState("");
  const busy = view.status === "running" || view.status === "stopping";
  const asked = view.interrupts.map((i) => i.toolCallId ?? "").join(" ");
  const newest = turns.at(-1);
  const waiting =
    busy &&
    !(
      newest?.role === "assistant" &&
      (view.streaming || newest.blocks.some((b) => b.kind === "call" && !b.call.result))
    );
  const [said, setSaid] = useState("");
  useEffect(() => {
    setSaid(
      busy
        ? "The agent is working"
        : view.interrupts.length
          ? `The agent asks: ${view.interrupts[0]?.message ?? ""}`
          : turns.length && newest?.role === "assistant"
            ? "The answer is complete"
            : "",
    );
  }, [busy, view.interrupts]);
  return (
    <main className="thread" id="chat">
      <div className="scroll" ref={scrollRef}>
        <div className="column" ref={contentRef}>
          <h1 className="sr">{title}</h1>
          {!turns.length && view.status !== "loading" && !busy && (
            <div className="welcome">
              <p className="hello">What can I do for you?</p>
              <ul>
                {EXAMPLES.map((example) => (
                  <li key={example}>
                    <button className="chip" onClick={() => void store.send(example)}>
                      {example}
                    </button>
                  </li>
                ))}
              </ul>
            </div>
          )}
          {turns.map((turn, n) => (
            <TurnView
              key={turn.id}
              turn={turn}
              store={store}
              streaming={view.streaming}
              running={busy}
              last={n === turns.length - 1}
              asked={asked}
            />
          ))}
          {waiting && (
            <p className="dots" aria-hidden="true">
              <span />
              <span />
              <span />
            </p>
          )}
          {view.interrupts.length > 0 && !busy && (
            <Questions
              key={view.interrupts.map((i) => i.id).join()}
              questions={view.interrupts}
              answer={(entries) => void store.answer(entries)}
            />
          )}
          {view.error && (
            <div className="card error" role="alert">
              <Icon name="alert" />
              <span>{view.error}</span>
              <button className="button" onClick={() => void store.regenerate()}>
                Try again
              </button>
            </div>
          )}
          {view.notice && <p className="muted notice">{view.notice}</p>}
        </div>
      </div>
      <div className="dock">
        {!isAtBottom && (
          <button className="round jump" aria-label="To the newest message" onClick={() => void scrollToBottom()}>
            <Icon name="down" />
          </button>
        )}
        <Composer
          busy={busy}
          stopping={view.status === "stopping"}
          blocked={view.interrupts.length > 0}
          send={(content) => {
            void store.send(content);
            void scrollToBottom();
          }}
          stop={() => void store.stop()}
          draft={draft}
        />
      </div>
      <div className="sr" role="status" aria-live="polite">
        {said}
      </div>
    </main>
  );
}
