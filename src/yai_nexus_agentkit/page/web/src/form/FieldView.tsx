import { useState } from "react";
import { objectOf } from "../agent/json.ts";
import { Fieldset, Frame, type FormState, marks } from "./Frame.tsx";
import { Choice, Several } from "./choices.tsx";
import { NumberBox, TextBox } from "./boxes.tsx";
import { ListView, MapView, TupleView } from "./lists.tsx";
import { join } from "./problems.ts";
import { fieldOf, initial, isFilled, type JsonSchema, labelOf, variantOf } from "./schema.ts";

export type FieldGiven = {
  form: FormState;
  schema: JsonSchema;
  name: string;
  path: string;
  required: boolean;
  value: unknown;
  change: (value: unknown) => void;
  /** Without a frame of its own: the whole form. */
  bare?: boolean;
};

/** The field of a schema, whatever it is. */
export function FieldView(given: FieldGiven) {
  const { form, schema, name, path, value, change, bare } = given;
  const field = fieldOf(schema, form.root);
  const label = labelOf(field, name);
  const required = given.required && !field.nullable;
  const mark = !required && (value === undefined || value === null || value === "" || field.kind === "group");
  const frame = { form, path, label, optional: mark, description: field.description };
  const common = { ...marks(frame), value, change };
  // An optional list that must not be empty is left out by emptying it.
  const list = (next: unknown) =>
    change(!required && isFilled(field) && Array.isArray(next) && next.length === 0 ? undefined : next);
  switch (field.kind) {
    case "fixed":
      return null;
    case "text":
      return (
        <Frame {...frame}>
          <TextBox {...common} schema={field.schema} />
        </Frame>
      );
    case "number":
      return (
        <Frame {...frame}>
          <NumberBox {...common} schema={field.schema} whole={field.whole} />
        </Frame>
      );
    case "choice":
      return <Choice {...frame} optional={!required && value === undefined} value={value} change={change} options={field.options} />;
    case "several":
      return <Several {...frame} options={field.options} value={value} change={list} />;
    case "flag":
      return (
        <Frame {...frame} optional={false} beside>
          <input
            type="checkbox"
            {...marks(frame)}
            checked={value === true}
            onChange={(e) => change(e.target.checked)}
          />
        </Frame>
      );
    case "group":
      return (
        <Fieldset {...frame} bare={bare} whole={wholeOf(given, required)}>
          {field.properties.map(([key, property]) => (
            <FieldView
              key={key}
              form={form}
              schema={property}
              name={key}
              path={join(path, key)}
              required={field.required.includes(key)}
              value={objectOf(value)[key]}
              change={(next) => change({ ...objectOf(value), [key]: next })}
            />
          ))}
        </Fieldset>
      );
    case "union":
      return <Union {...given} label={label} variants={field.variants} optional={mark} />;
    case "list":
      return <ListView {...frame} item={field.item} value={value} change={list} />;
    case "tuple":
      return (
        <TupleView {...frame} items={field.items} value={value} change={change} whole={wholeOf(given, required)} />
      );
    case "map":
      return <MapView {...frame} item={field.value} value={value} change={change} />;
  }
}

/** A group that may be left out is there when somebody adds it. */
function wholeOf({ form, schema, value, change, bare }: FieldGiven, required: boolean) {
  const { anyOf, oneOf, default: _, ...present } = schema;
  const begin = (anyOf ?? oneOf)?.find(({ type }) => type !== "null") ?? present;
  const start = initial(begin, form.root);
  // A text or number is left out by leaving it empty.
  if (required || bare || start === undefined) return undefined;
  const empty = value === undefined || value === null;
  return { empty, add: () => change(start), remove: () => change(undefined) };
}

/** One of several shapes: a choice of the shape, and its fields. */
function Union(given: FieldGiven & { label: string; variants: JsonSchema[]; optional: boolean }) {
  const { form, name, path, label, variants, value, change, optional } = given;
  // An empty value does not say which shape was chosen.
  const [at, setAt] = useState(() => variantOf(variants, value, form.root));
  const chosen = variants[at];
  const titles = variants.map((variant, n) => {
    const field = fieldOf(variant, form.root);
    return { value: n, label: field.title ?? field.shape ?? SHAPES[field.kind] ?? `Form ${n + 1}` };
  });
  const frame = {
    form,
    path: join(path, "shape"),
    label: `${label}: which one?`,
    description: undefined,
  };
  const choose = (n: unknown) => {
    setAt(Number(n));
    change(initial(variants[Number(n)] ?? {}, form.root));
  };
  const about = { form, path, label, optional, description: undefined };
  return (
    <Fieldset {...about} whole={wholeOf(given, given.required && !optional)}>
      <Choice {...frame} quiet options={titles} value={at} change={choose} />
      {chosen && (
        <FieldView
          key={at}
          form={form}
          schema={chosen}
          name={name}
          path={path}
          required
          value={value}
          change={change}
          bare
        />
      )}
    </Fieldset>
  );
}

const SHAPES: Partial<Record<ReturnType<typeof fieldOf>["kind"], string>> = {
  text: "Text",
  number: "Number",
  flag: "Yes or no",
  list: "List",
  map: "Pairs",
};
