import { type FormEvent, type ReactNode, useEffect, useId, useMemo, useRef, useState } from "react";
import { useKept } from "../ui/useKept.ts";
import { FieldView } from "./FieldView.tsx";
import { type Problems, problemsOf } from "./problems.ts";
import { answerOf, fieldOf, hasPassword, initial, type JsonSchema } from "./schema.ts";

type Given = {
  schema: JsonSchema;
  /** Where the references of the schema begin, if it is a part of another one. */
  root?: JsonSchema;
  start?: unknown;
  /** What is written stays under this name, if it is no password. */
  draft?: string;
  /** Whether the first field gets the focus. */
  focus?: boolean;
  submit: (value: unknown) => void;
  /** The buttons. One of them submits. */
  children: ReactNode;
};

/** A form for what a JSON Schema describes. Problems stand beside the fields; the server has the last word. */
export function SchemaForm({ schema, root = schema, start, draft, focus, submit, children }: Given) {
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const secret = useMemo(() => hasPassword([schema, root]), [schema, root]);
  const [value, setValue] = useKept<unknown>(secret ? undefined : draft, () => start ?? initial(schema, root));
  const [problems, setProblems] = useState<Problems>({});
  const [tried, setTried] = useState(false);

  useEffect(() => {
    if (focus) form.current?.querySelector<HTMLElement>("input, select, textarea")?.focus();
  }, [focus]);
  const change = (next: unknown) => {
    setValue(next);
    if (tried) setProblems(problemsOf(schema, next, root));
  };
  const send = (event: FormEvent) => {
    event.preventDefault();
    const found = problemsOf(schema, value, root);
    setTried(true);
    setProblems(found);
    if (Object.keys(found).length === 0) return submit(answerOf(schema, value, root));
    // After the list has followed the form's new height.
    setTimeout(() => {
      const first = form.current?.querySelector<HTMLElement>("[aria-invalid=true]");
      first?.focus({ preventScroll: true });
      first?.scrollIntoView({ block: "center" });
    }, 50);
  };
  const bare = fieldOf(schema, root).kind === "group";
  return (
    <form ref={form} className="schema-form" noValidate autoComplete="off" onSubmit={send}>
      <FieldView
        form={{ id, root, problems }}
        schema={schema}
        name="answer"
        path=""
        required
        bare={bare}
        value={value}
        change={change}
      />
      <div className="actions">{children}</div>
    </form>
  );
}
