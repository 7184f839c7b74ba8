import { ArrowDown, CircleAlert } from "lucide-react";
import { useEffect, useMemo, useRef } from "react";
import { useStickToBottom } from "use-stick-to-bottom";
import { forgetOthers } from "../agent/kept.ts";
import { share } from "../agent/share.ts";
import type { ThreadStore } from "../agent/store.ts";
import { timeline, type Turn } from "../agent/timeline.ts";
import type { View } from "../agent/view.ts";
import { leave } from "../ui/focus.ts";
import type { Now } from "./Blocks.tsx";
import { Composer } from "./Composer.tsx";
import { Questions } from "./Questions.tsx";
import { TurnView } from "./TurnView.tsx";

type Given = {
  store: ThreadStore;
  view: View;
  title: string;
  draft: string;
  welcome: string;
  examples: readonly string[];
};

const QUIET: Now = { streaming: [], running: false, asked: [] };

/** One conversation, and the box to go on with it. */
export function Thread({ store, view, title, draft, welcome, examples }: Given) {
  const { scrollRef, contentRef, isAtBottom, scrollToBottom } = useStickToBottom({
    resize: "instant",
    initial: "instant",
  });
  const turns = useTurns(view);
  const newest = turns.at(-1);
  const running = view.status !== "idle" && view.status !== "loading";
  const asked = useMemo(() => view.interrupts.flatMap(callsOf), [view.interrupts]);
  const now = useMemo(() => ({ streaming: view.streaming, running, asked }), [view.streaming, running, asked]);
  useEscape(running, () => void store.stop());
  useForgetting(draft, view);
  const empty = turns.length === 0 && view.status === "idle" && !view.trouble && view.interrupts.length === 0;
  return (
    <main className="thread" tabIndex={-1}>
      <div className="scroll" ref={scrollRef}>
        <div className="column" ref={contentRef}>
          <h1 className="sr">{title}</h1>
          {empty && <Welcome text={welcome} examples={examples} choose={(text) => void store.send(text)} />}
          {turns.map((turn) => (
            <TurnView
              key={turn.id}
              turn={turn}
              store={store}
              draft={draft}
              now={turn === newest && turn.role === "assistant" ? now : QUIET}
              busy={view.status !== "idle"}
              again={turn === newest && view.status === "idle" && view.interrupts.length === 0 && !view.stopped}
            />
          ))}
          {running && isSilent(view, newest) && <Dots reconnecting={view.status === "reconnecting"} />}
          {view.interrupts.length > 0 && view.status === "idle" && (
            <Questions
              key={view.interrupts.map(({ id }) => id).join()}
              draft={draft}
              interrupts={view.interrupts}
              given={view.given}
              answer={(entries) => void store.answer(entries)}
            />
          )}
          <Ending store={store} view={view} newest={newest} />
        </div>
      </div>
      <div className="dock">
        {!isAtBottom && (
          <button
            type="button"
            className="round jump"
            aria-label="To the newest message"
            onClick={(event) => {
              leave(event);
              void scrollToBottom();
            }}
          >
            <ArrowDown size={16} aria-hidden />
          </button>
        )}
        <Composer
          draft={draft}
          status={composerStatus(view)}
          returned={view.returned}
          stop={() => void store.stop()}
          send={(content) => {
            void store.send(content);
            void scrollToBottom();
          }}
        />
      </div>
      <div className="sr" role="status">
        {announcement(view, newest)}
      </div>
    </main>
  );
}

/** Turns that did not change stay the same objects, so that they are not drawn again. */
function useTurns({ messages, extras, subagents }: View): Turn[] {
  const last = useRef<Turn[]>([]);
  return useMemo(() => {
    last.current = share(last.current, timeline({ messages, extras, subagents }));
    return last.current;
  }, [messages, extras, subagents]);
}

/** What was written about a question goes with it, as soon as the server does not ask it any more. */
function useForgetting(draft: string, { status, phase, trouble, notice, interrupts, messages }: View) {
  // A thread that is gone has no run, but a notice.
  const known = status === "idle" && !trouble && (phase === "ended" || notice !== null);
  useEffect(() => {
    if (known) forgetOthers(draft, [...interrupts, ...messages].map(({ id }) => id));
  }, [known, draft, interrupts, messages]);
}

function useEscape(active: boolean, stop: () => void) {
  useEffect(() => {
    if (!active) return undefined;
    const key = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
      // In the list and in the panel, Escape ends a rename or empties a search, and over the conversation it closes them.
      const elsewhere = (event.target as Element).closest("nav, aside") || document.querySelector(".middle[inert]");
      if (!elsewhere) stop();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  });
}

function callsOf({ toolCallId, metadata }: View["interrupts"][number]): string[] {
  const { langgraph } = (metadata ?? {}) as { langgraph?: { toolCallIds?: string[] } };
  return [...(toolCallId ? [toolCallId] : []), ...(langgraph?.toolCallIds ?? [])];
}

/** Whether nothing on the page moves, although the agent works. */
function isSilent(view: View, newest: Turn | undefined): boolean {
  if (view.status === "reconnecting" || newest?.role !== "assistant") return true;
  return view.streaming.length === 0 && !newest.blocks.some((block) => block.kind === "call" && !block.result);
}

function composerStatus({ status, interrupts }: View) {
  if (status === "loading") return "waiting" as const;
  if (status === "stopping") return "stopping" as const;
  if (status !== "idle") return "running" as const;
  return interrupts.length > 0 ? ("asked" as const) : ("ready" as const);
}

/** For screen readers: the words themselves would be read while they change. */
function announcement(view: View, newest: Turn | undefined): string {
  if (view.status === "reconnecting") return "The connection was lost. Reconnecting.";
  if (view.status === "running" || view.status === "tools") return "The agent is working.";
  if (view.interrupts.length > 0) return "The agent asks you something.";
  if (view.notice) return view.notice;
  const complete = newest?.role === "assistant" && view.status === "idle" && view.phase === "ended" && !view.trouble;
  return endingOf(view, newest) ?? (complete ? "The answer is complete." : "");
}

type WelcomeGiven = { text: string; examples: readonly string[]; choose: (text: string) => void };

const Welcome = ({ text, examples, choose }: WelcomeGiven) => (
  <div className="welcome">
    <p className="hello">{text}</p>
    <ul aria-label="Examples">
      {examples.map((example) => (
        <li key={example}>
          <button type="button" className="chip" onClick={() => choose(example)}>
            {example}
          </button>
        </li>
      ))}
    </ul>
  </div>
);

const Dots = ({ reconnecting }: { reconnecting: boolean }) => (
  <div className="row">
    <p className="dots" aria-hidden="true">
      <span />
      <span />
      <span />
    </p>
    {reconnecting && <span className="muted notice">Connection lost. Reconnecting…</span>}
  </div>
);

/** How the last run ended, if it was neither an answer nor a failure. */
function endingOf({ status, phase, stopped, trouble, interrupts }: View, newest: Turn | undefined): string | undefined {
  if (status !== "idle" || trouble || !newest) return undefined;
  if (stopped) return "The answer was stopped.";
  const silent = phase === "ended" && newest.role === "user" && interrupts.length === 0;
  return silent ? "The agent finished without an answer." : undefined;
}

/** How the last run ended, if that needs words, and how to go on. */
function Ending({ store, view, newest }: { store: ThreadStore; view: View; newest: Turn | undefined }) {
  const { trouble, notice } = view;
  const ending = endingOf(view, newest);
  const again = ending && view.stopped && view.interrupts.length === 0;
  return (
    <>
      {trouble && (
        <div className="card error" role="alert">
          <CircleAlert size={18} aria-hidden />
          <span>
            {trouble.message}
            {trouble.code && <small className="muted"> {trouble.code}</small>}
          </span>
          {trouble.retry && (
            <button type="button" className="button" onClick={() => void store.retry()}>
              Try again
            </button>
          )}
        </div>
      )}
      {notice && <p className="muted notice">{notice}</p>}
      {ending && (
        <div className="row ending">
          <p className="muted notice">{ending}</p>
          {again && (
            <button type="button" className="button small" onClick={() => void store.regenerate()}>
              Try again
            </button>
          )}
        </div>
      )}
    </>
  );
}
