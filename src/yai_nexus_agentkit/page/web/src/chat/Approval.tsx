import { useEffect, useRef } from "react";
import { brief, isObject } from "../agent/json.ts";
import { forget } from "../agent/kept.ts";
import { type Action, type Asked, askFor, type Decision } from "../agent/questions.ts";
import { SchemaForm } from "../form/SchemaForm.tsx";
import { useKept } from "../ui/useKept.ts";
import { ValueView } from "../ui/ValueView.tsx";

type Given = {
  asked: Extract<Asked, { kind: "approval" }>;
  /** How the names begin under which stays what is decided and written. */
  draft: string;
  give: (payload: unknown) => void;
};

/** Null: nothing is decided. */
type Decided = Decision | null;

/** May these calls run? Each of them gets a yes, a no, or other arguments. */
export function Approval({ asked, draft, give }: Given) {
  const { actions, payload } = asked;
  const [decisions, setDecisions] = useKept<readonly Decided[]>(`${draft}decisions`, () => []);
  const box = useRef<HTMLDivElement>(null);
  // The button that had the focus is gone. The next call takes it, and not its "Yes": the key may still be down.
  const made = decisions.filter((one) => one !== null).length;
  useEffect(() => {
    if (made > 0) box.current?.querySelector<HTMLElement>(".action:not(.row)")?.focus();
  }, [made]);
  const decide = (n: number, decision: Decided) => {
    const next = actions.map((_, m) => (m === n ? decision : (decisions[m] ?? null)));
    setDecisions(next);
    const all = next.filter((one) => one !== null);
    if (all.length === actions.length) done(all);
  };
  const done = (all: Decision[]) => {
    setDecisions([]); // If the answer does not arrive, the question is there again.
    give(payload(all));
  };
  return (
    <div ref={box} className="approval">
      {actions.map((action, n) => (
        <ActionView
          key={n}
          action={action}
          several={actions.length > 1}
          draft={`${draft}${n} `}
          decision={decisions[n] ?? null}
          decide={(decision) => decide(n, decision)}
        />
      ))}
      {actions.length > 1 && made === 0 && (
        <div className="actions all">
          <button type="button" className="button" onClick={() => done(actions.map(() => YES))}>
            Yes to all
          </button>
          <button type="button" className="button" onClick={() => done(actions.map(() => NO))}>
            No to all
          </button>
        </div>
      )}
    </div>
  );
}

const YES: Decision = { type: "approve" };
const NO: Decision = { type: "reject" };
const MADE = { approve: "Yes", reject: "No", edit: "Yes, with changes", words: "Answered in words" };
const WORDS = { type: "string", title: "Your answer", maxLength: 2000 };

type ActionGiven = {
  action: Action;
  /** Whether it is one of several, so that it has a title of its own. */
  several: boolean;
  draft: string;
  decision: Decided;
  decide: (decision: Decided) => void;
};

function ActionView({ action, several, draft, decision, decide }: ActionGiven) {
  const [mode, setMode] = useKept<"look" | "edit" | "words">(`${draft}mode`, () => "look");
  const heading = several && <p className="ask">{askFor(action)}</p>;
  const group = { className: "action", role: "group", "aria-label": askFor(action), tabIndex: -1 } as const;
  const back = (
    <button
      type="button"
      className="button ghost"
      onClick={() => {
        setMode("look");
        forget(draft);
      }}
    >
      Back
    </button>
  );
  if (decision) {
    return (
      <div className="action row">
        {several && <p className="ask">{[askFor(action), ...Object.values(action.args).map(brief)].join("  ")}</p>}
        <span className="muted">{MADE[decision.type]}</span>
        <button type="button" className="button small" onClick={() => decide(null)}>
          Change
        </button>
      </div>
    );
  }
  if (mode === "edit" && action.edit) {
    const { schema, root } = action.edit;
    return (
      <div {...group}>
        {heading}
        <SchemaForm
          schema={schema}
          root={root}
          focus
          start={action.args}
          draft={`${draft}edit`}
          submit={(args) => decide({ type: "edit", args: isObject(args) ? args : {} })}
        >
          <button className="button primary">Run with changes</button>
          {back}
        </SchemaForm>
      </div>
    );
  }
  if (mode === "words") {
    return (
      <div {...group}>
        {heading}
        <SchemaForm schema={WORDS} focus draft={`${draft}words`} submit={(text) => decide({ type: "words", text: String(text) })}>
          <button className="button primary">Send</button>
          {back}
        </SchemaForm>
      </div>
    );
  }
  return (
    <div {...group}>
      {heading}
      {Object.keys(action.args).length > 0 && <ValueView value={action.args} />}
      <div className="actions">
        <button type="button" className="button primary" onClick={() => decide(YES)}>
          Yes
        </button>
        <button type="button" className="button" onClick={() => decide(NO)}>
          No
        </button>
        {action.edit && (
          <button type="button" className="button" onClick={() => setMode("edit")}>
            Edit
          </button>
        )}
        {action.words && (
          <button type="button" className="button ghost" onClick={() => setMode("words")}>
            Answer in words
          </button>
        )}
      </div>
    </div>
  );
}
