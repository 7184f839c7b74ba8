import type { ReactNode } from "react";
import { Plus, X } from "lucide-react";
import type { Problems } from "./problems.ts";
import type { JsonSchema } from "./schema.ts";

export type FormState = { id: string; root: JsonSchema; problems: Problems };

export type FrameGiven = {
  form: FormState;
  path: string;
  label: string;
  /** Whether it says that it may be left empty. Most fields are wanted, so the others are marked. */
  optional?: boolean;
  description: string | undefined;
};

export const idOf = (form: FormState, path: string): string => `${form.id}/${path}`;

/** What ties an input to its label, its description and its problem. */
export function marks({ form, path, description }: FrameGiven) {
  const id = idOf(form, path);
  const problem = form.problems[path];
  const described = [description && `${id}-about`, problem && `${id}-problem`].filter(Boolean).join(" ");
  return {
    id,
    "aria-invalid": problem ? true : undefined,
    "aria-describedby": described || undefined,
  } as const;
}

/** A label, an input, and what is wrong with it. `beside`: the label stands behind a box to tick. */
export function Frame({ children, beside, ...given }: FrameGiven & { children: ReactNode; beside?: boolean }) {
  const id = idOf(given.form, given.path);
  return (
    <div className={beside ? "field check" : "field"}>
      {beside && children}
      <label htmlFor={id}>
        {given.label}
        {given.optional && <Optional />}
      </label>
      {!beside && children}
      <About {...given} />
    </div>
  );
}

export const Optional = () => <span className="muted"> (optional)</span>;

/** The description of a field, and its problem. */
export function About({ form, path, description }: FrameGiven) {
  const id = idOf(form, path);
  const problem = form.problems[path];
  return (
    <>
      {description && (
        <small id={`${id}-about`} className="muted">
          {description}
        </small>
      )}
      {problem && (
        <small id={`${id}-problem`} className="wrong">
          {problem}
        </small>
      )}
    </>
  );
}

type Group = FrameGiven & {
  children: ReactNode;
  bare?: boolean;
  whole?: Whole;
};

/** How something is added and removed as a whole. */
export type Whole = { empty: boolean; add: () => void; remove: () => void };

/** Several fields under one title. `whole`: it is added and removed as a whole. */
export function Fieldset({ children, bare, whole, ...given }: Group) {
  if (bare) return <>{children}</>;
  return (
    <fieldset>
      <legend>
        {given.label}
        {given.optional && <Optional />}
      </legend>
      <About {...given} />
      {!whole?.empty && children}
      {whole?.empty && (
        <button type="button" className="button small" onClick={whole.add}>
          <Plus size={14} aria-hidden /> Add<span className="sr"> {given.label}</span>
        </button>
      )}
      {whole && !whole.empty && (
        <button type="button" className="button small ghost" onClick={whole.remove}>
          <X size={14} aria-hidden /> Remove<span className="sr"> {given.label}</span>
        </button>
      )}
    </fieldset>
  );
}
