import type { Interrupt, ResumeEntry } from "@ag-ui/client";
import { useEffect, useRef, useState } from "react";
import { Icon } from "../ui/icons";
import { SchemaForm } from "./SchemaForm";

const entry = (id: string, payload: unknown): ResumeEntry => ({ interruptId: id, status: "resolved", payload });

/** One question: yes/no/edit for the approval of a call, yes/no, a form, or a line of text. */
function Question({ question, answer }: { question: Interrupt; answer: (entry: ResumeEntry) => void }) {
  const [editing, setEditing] = useState(false),
    [text, setText] = useState("");
  const approval = question.reason === "tool_call",
    schema = question.responseSchema as Record<string, any> | undefined;
  const asked = (question.metadata as any)?.langgraph?.value;
  const cancel = (
    <button
      type="button"
      className="button ghost"
      onClick={() => answer({ interruptId: question.id, status: "cancelled" })}
    >
      Cancel
    </button>
  );
  let body;
  if (approval && editing) {
    body = (
      <SchemaForm
        schema={schema?.properties?.editedArgs ?? { type: "object" }}
        start={asked?.args}
        submit={(args) => answer(entry(question.id, { approved: true, editedArgs: args }))}
        actions={
          <>
            <button className="button primary">Run with changes</button>
            <button type="button" className="button ghost" onClick={() => setEditing(false)}>
              Back
            </button>
          </>
        }
      />
    );
  } else if (approval || question.reason === "confirmation") {
    body = (
      <>
        {asked?.args && (
          <dl className="args">
            {Object.entries(asked.args).map(([key, value]) => (
              <div key={key}>
                <dt>{key}</dt>
                <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
              </div>
            ))}
          </dl>
        )}
        <div className="actions">
          <button className="button primary" onClick={() => answer(entry(question.id, { approved: true }))}>
            Yes
          </button>
          <button className="button" onClick={() => answer(entry(question.id, { approved: false }))}>
            No
          </button>
          {approval && schema?.properties?.editedArgs && (
            <button className="button ghost" onClick={() => setEditing(true)}>
              Edit…
            </button>
          )}
        </div>
      </>
    );
  } else if (schema) {
    body = (
      <SchemaForm
        schema={schema}
        submit={(value) => answer(entry(question.id, value))}
        actions={
          <>
            <button className="button primary">Send</button>
            {cancel}
          </>
        }
      />
    );
  } else {
    body = (
      <form
        className="schema-form"
        onSubmit={(event) => {
          event.preventDefault();
          answer(entry(question.id, text));
        }}
      >
        <div className="field">
          <input aria-label="Answer" required value={text} onChange={(e) => setText(e.target.value)} />
        </div>
        <div className="actions">
          <button className="button primary">Send</button>
          {cancel}
        </div>
      </form>
    );
  }
  const title =
    approval && asked?.name ? (
      <>
        Run <code>{asked.name}</code>?
      </>
    ) : (
      (question.message ?? "The agent asks")
    );
  return (
    <section className="card question" aria-label={question.message ?? "Question"}>
      <h3>
        <Icon name="question" /> {title}
      </h3>
      {body}
    </section>
  );
}

/** All open questions; the answers go out together, as the protocol asks. */
export function Questions({
  questions,
  answer,
}: {
  questions: readonly Interrupt[];
  answer: (entries: ResumeEntry[]) => void;
}) {
  const [given, setGiven] = useState<Record<string, ResumeEntry>>({});
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.querySelector<HTMLElement>("button, input, select, textarea")?.focus({ preventScroll: true });
    return () => document.querySelector<HTMLElement>("textarea[aria-label=Message]")?.focus({ preventScroll: true }); // back to where the user writes
  }, []);
  const open = questions.filter(({ id }) => !given[id]);
  return (
    <div ref={box} role="group" aria-label="The agent waits for your answer">
      {open.map((question) => (
        <Question
          key={question.id}
          question={question}
          answer={(entry) => {
            const next = { ...given, [question.id]: entry };
            setGiven(next);
            if (questions.every(({ id }) => next[id])) answer(questions.map(({ id }) => next[id]!));
          }}
        />
      ))}
      {questions.length > 1 && (
        <p className="muted">
          {questions.length - open.length} of {questions.length} answered
        </p>
      )}
    </div>
  );
}
