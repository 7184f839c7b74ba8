import type { Interrupt, ResumeEntry } from "@ag-ui/client";
import { type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import { MessageCircleQuestion } from "lucide-react";
import { brief } from "../agent/json.ts";
import { about } from "../agent/kept.ts";
import { type Question, questionOf } from "../agent/questions.ts";
import { hasPassword } from "../form/schema.ts";
import { SchemaForm } from "../form/SchemaForm.tsx";
import { focusMessage, isWriting } from "../ui/focus.ts";
import { useKept } from "../ui/useKept.ts";
import { ValueView } from "../ui/ValueView.tsx";
import { Approval } from "./Approval.tsx";

type Given = {
  /** The name of the conversation, for what is kept. */
  draft: string;
  interrupts: readonly Interrupt[];
  /** The last answers, if the server did not take them. */
  given: Readonly<Record<string, ResumeEntry>>;
  answer: (entries: ResumeEntry[]) => void;
};

/** All open questions. Their answers go out together, as the protocol asks; until then they can be changed. */
export function Questions({ draft, interrupts, given, answer }: Given) {
  const name = interrupts.some(isSecret) ? undefined : `${about(draft, interrupts[0]?.id ?? "")}answers`;
  const [entries, setEntries] = useKept<Record<string, ResumeEntry>>(name, () => ({}));
  const box = useRef<HTMLDivElement>(null);
  useFocus(box, Object.keys(entries).length);
  const take = (entry: ResumeEntry) => {
    const next = { ...entries, [entry.interruptId]: entry };
    const all = interrupts.flatMap(({ id }) => next[id] ?? []);
    const complete = all.length === interrupts.length;
    setEntries(complete ? {} : next); // If the answers do not arrive, the questions are there again.
    if (complete) answer(all);
  };
  const reopen = (id: string) => {
    const { [id]: _, ...others } = entries;
    setEntries(others);
  };
  return (
    <div ref={box} className="questions" role="group" aria-label="The agent waits for your answer">
      {interrupts.map((interrupt) => {
        const question = questionOf(interrupt);
        return entries[interrupt.id] ? (
          <section key={interrupt.id} className="card answered">
            <span className="cut">{answeredTitle(question)}</span>
            <span className="muted">{entries[interrupt.id]?.status === "cancelled" ? "left open" : "answered"}</span>
            <button type="button" className="button small" onClick={() => reopen(interrupt.id)}>
              Change
            </button>
          </section>
        ) : (
          <QuestionCard
            key={interrupt.id}
            question={question}
            draft={about(draft, interrupt.id)}
            start={given[interrupt.id]?.payload}
            take={take}
          />
        );
      })}
      {interrupts.length > 1 && (
        <p className="muted notice" role="status">
          {Object.keys(entries).length} of {interrupts.length} answered. The agent goes on after the last one.
        </p>
      )}
    </div>
  );
}

/** Whether the answer has a password, or the address of a login: those are not kept. */
const isSecret = (interrupt: Interrupt): boolean =>
  hasPassword(interrupt.responseSchema) || questionOf(interrupt).asked.kind === "login";

/** Two calls of the same tool differ in their arguments. */
function answeredTitle({ title, asked }: Question): string {
  if (asked.kind !== "approval") return title;
  return [title, ...asked.actions.flatMap(({ args }) => Object.values(args).map(brief))].join("  ");
}

/** The next question takes the focus if nobody is writing; in the end it goes back to the box for messages. */
function useFocus(box: RefObject<HTMLDivElement | null>, answered: number) {
  useEffect(() => {
    // The card, not a button of it: the user may be in the middle of a key that would press it.
    if (!isWriting()) box.current?.querySelector<HTMLElement>(".question")?.focus({ preventScroll: answered === 0 });
  }, [box, answered]);
  useEffect(() => () => focusMessage(), []);
  useEffect(() => {
    // Taller than the list: from the beginning, after the list has followed the new height.
    const timer = setTimeout(() => {
      const list = box.current?.closest(".scroll");
      if (!box.current || !list || box.current.clientHeight <= list.clientHeight) return;
      list.scrollTop += box.current.getBoundingClientRect().top - list.getBoundingClientRect().top;
    }, 50);
    return () => clearTimeout(timer);
  }, [box]);
}

type CardGiven = {
  question: Question;
  /** How the names begin under which stays what is written. */
  draft: string;
  start: unknown;
  take: (entry: ResumeEntry) => void;
};

function QuestionCard({ question, draft, start, take }: CardGiven) {
  const { id, title, about, asked } = question;
  const expired = useExpired(question.ends);
  const leave = () => take({ interruptId: id, status: "cancelled" });
  const give = (payload: unknown) => take({ interruptId: id, status: "resolved", payload });
  const cancel = question.cancels && (
    <button type="button" className="button ghost" onClick={leave}>
      Cancel
    </button>
  );
  if (expired) {
    return (
      <section role="group" className="card question" aria-label={title} tabIndex={-1}>
        <h3>{title}</h3>
        <p>It is too late for an answer.</p>
        <div className="actions">
          <button type="button" className="button primary" onClick={leave}>
            Go on without one
          </button>
        </div>
      </section>
    );
  }
  return (
    <section role="group" className="card question" aria-label={title} tabIndex={-1}>
      <h3>
        <MessageCircleQuestion size={18} aria-hidden />
        <span>{title}</span>
      </h3>
      {about !== undefined && <ValueView value={about} />}
      {asked.kind === "approval" && <Approval asked={asked} draft={draft} give={give} />}
      {asked.kind === "confirmation" && (
        <div className="actions">
          <button type="button" className="button primary" onClick={() => give(true)}>
            Yes
          </button>
          <button type="button" className="button" onClick={() => give(false)}>
            No
          </button>
        </div>
      )}
      {asked.kind === "choice" && (
        <div className="actions">
          {asked.options.map((option) => (
            <button key={option} type="button" className="button" onClick={() => give(option)}>
              {option}
            </button>
          ))}
          {cancel}
        </div>
      )}
      {asked.kind === "form" && (
        <SchemaForm schema={asked.schema} start={start} draft={`${draft}form`} submit={give}>
          <button className="button primary">Send</button>
          {cancel}
        </SchemaForm>
      )}
      {asked.kind === "login" && <Login uri={asked.uri} give={give} cancel={cancel} />}
      {asked.kind === "text" && (
        <SchemaForm schema={ANSWER} start={start} draft={`${draft}form`} submit={give}>
          <button className="button primary">Send</button>
          {cancel}
        </SchemaForm>
      )}
    </section>
  );
}

/** Whether the time has come. Timers of browsers cannot wait for more than 24 days. */
function useExpired(ends: number): boolean {
  const [expired, setExpired] = useState(ends <= Date.now());
  useEffect(() => {
    const left = ends - Date.now();
    if (!(left < 2 ** 31)) return undefined;
    const waited = setTimeout(() => setExpired(true), Math.max(0, left));
    return () => clearTimeout(waited);
  }, [ends]);
  return expired;
}

const ANSWER = { type: "string", title: "Your answer" };
const ADDRESS = { type: "string", title: "The address that the login led to", format: "uri" };

/** The login of another service, whose last address is the answer. */
function Login({ uri, give, cancel }: { uri: string; give: (payload: unknown) => void; cancel: ReactNode }) {
  return (
    <>
      <p>
        <a href={uri} target="_blank" rel="noreferrer noopener">
          Sign in
        </a>
        , then copy the address of the page where you arrive.
      </p>
      <SchemaForm schema={ADDRESS} submit={(address) => give({ authResponseUri: address })}>
        <button className="button primary">Send</button>
        {cancel}
      </SchemaForm>
    </>
  );
}
