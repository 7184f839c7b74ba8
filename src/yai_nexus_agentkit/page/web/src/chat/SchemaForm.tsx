import { useId, useState } from "react";

type Schema = Record<string, any>;
/** $ref, and `anyOf: [x, null]` of pydantic's optionals. */
function plain(schema: Schema, root: Schema): Schema {
  if (schema.$ref)
    return plain(
      {
        ...schema.$ref
          .slice(2)
          .split("/")
          .reduce((at: any, key: string) => at?.[key], root),
        ...schema,
        $ref: undefined,
      },
      root,
    );
  const options = (schema.anyOf ?? schema.oneOf)?.filter((option: Schema) => option.type !== "null");
  if (options?.length === 1)
    return plain({ ...schema, ...options[0], anyOf: undefined, oneOf: undefined, nullable: true }, root);
  if (schema.allOf?.length === 1) return plain({ ...schema, ...schema.allOf[0], allOf: undefined }, root);
  return schema;
}
const optionsOf = (schema: Schema): Schema[] | undefined => {
  const found = (schema.anyOf ?? schema.oneOf)?.filter((option: Schema) => option.type !== "null");
  return found?.length > 1 ? found : undefined;
};
/** Which option a value is of: by its constants (pydantic's discriminators), else by its type. */
const optionAt = (options: Schema[], value: any) =>
  Math.max(
    0,
    options.findIndex((option) =>
      option.type === "object"
        ? typeof value === "object" &&
          Object.entries<Schema>(option.properties ?? {}).every(
            ([key, property]) => property.const === undefined || property.const === value?.[key],
          )
        : option.type === typeof value,
    ),
  );

/** Whether the form can ask for it; anything else is a box for JSON. */
export function supported(given: Schema, root: Schema = given): boolean {
  const schema = plain(given, root);
  if (schema.enum || schema.const !== undefined) return true;
  const options = optionsOf(schema);
  if (options) return options.every((option) => supported(option, root));
  if (schema.type === "object")
    return (
      !!schema.properties && Object.values<Schema>(schema.properties).every((property) => supported(property, root))
    );
  if (schema.type === "array") return !!schema.items && supported(schema.items, root);
  return ["string", "number", "integer", "boolean"].includes(schema.type);
}
export function initial(given: Schema, root: Schema = given): any {
  const schema = plain(given, root);
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  const options = optionsOf(schema);
  if (options) return initial(options[0]!, root);
  if (schema.type === "object")
    return Object.fromEntries(
      Object.entries<Schema>(schema.properties ?? {})
        .map(([key, property]) => [key, initial(property, root)])
        .filter(([, value]) => value !== undefined),
    );
  if (schema.type === "boolean") return false;
  if (schema.type === "array") return [];
  return undefined;
}
const FORMATS: Record<string, string> = {
  date: "date",
  "date-time": "datetime-local",
  time: "time",
  email: "email",
  uri: "url",
  password: "password",
};

function Field({
  schema: given,
  root,
  name,
  value,
  required,
  change,
}: {
  schema: Schema;
  root: Schema;
  name: string;
  value: any;
  required: boolean;
  change: (value: any) => void;
}) {
  const id = useId(),
    schema = plain(given, root),
    label = schema.title ?? name.replaceAll("_", " ");
  const hint = schema.description && (
    <small id={`${id}-hint`} className="muted">
      {schema.description}
    </small>
  );
  const common = { id, required, "aria-describedby": schema.description ? `${id}-hint` : undefined };
  const number = schema.type === "number" || schema.type === "integer";
  if (schema.const !== undefined) return null;
  const union = optionsOf(schema)?.map((option) => plain(option, root));
  if (union) {
    const at = optionAt(union, value);
    return (
      <fieldset>
        <legend>{label}</legend>
        {hint}
        <div className="segments" role="radiogroup" aria-label={label}>
          {union.map((option, n) => (
            <label key={n}>
              <input type="radio" name={id} checked={n === at} onChange={() => change(initial(option, root))} />
              <span>{option.title ?? option.type}</span>
            </label>
          ))}
        </div>
        {union[at]!.type === "object" ? (
          <Fields schema={union[at]!} root={root} value={value ?? {}} change={change} />
        ) : (
          <Field schema={union[at]!} root={root} name={name} required={required} value={value} change={change} />
        )}
      </fieldset>
    );
  }
  if (schema.type === "object")
    return (
      <fieldset>
        <legend>{label}</legend>
        {hint}
        <Fields schema={schema} root={root} value={value ?? {}} change={change} />
      </fieldset>
    );
  if (schema.type === "boolean")
    return (
      <div className="field check">
        <input
          type="checkbox"
          {...common}
          required={false}
          checked={!!value}
          onChange={(e) => change(e.target.checked)}
        />
        <label htmlFor={id}>{label}</label>
        {hint}
      </div>
    );
  if (schema.type === "array") {
    const options: unknown[] | undefined = plain(schema.items, root).enum;
    if (options)
      return (
        <fieldset>
          <legend>{label}</legend>
          {hint}
          {options.map((option) => (
            <label key={String(option)} className="check">
              <input
                type="checkbox"
                checked={value?.includes(option) ?? false}
                onChange={(e) =>
                  change(e.target.checked ? [...(value ?? []), option] : value.filter((v: unknown) => v !== option))
                }
              />
              {String(option)}
            </label>
          ))}
        </fieldset>
      );
    if (!["string", "number", "integer"].includes(plain(schema.items, root).type))
      return (
        <fieldset>
          <legend>{label}</legend>
          {hint}
          {(value ?? []).map((item: any, n: number) => (
            <div key={n} className="item">
              <Field
                schema={schema.items}
                root={root}
                name={`${label} ${n + 1}`}
                required
                value={item}
                change={(next) => change(value.map((v: any, m: number) => (m === n ? next : v)))}
              />
              <button
                type="button"
                className="button ghost"
                onClick={() => change(value.filter((_: any, m: number) => m !== n))}
              >
                Remove
              </button>
            </div>
          ))}
          <button
            type="button"
            className="button"
            onClick={() => change([...(value ?? []), initial(schema.items, root)])}
          >
            Add
          </button>
        </fieldset>
      );
    const isNumber = plain(schema.items, root).type !== "string";
    return (
      <div className="field">
        <label htmlFor={id}>{label}</label>
        <textarea
          {...common}
          rows={3}
          placeholder="one per line"
          value={(value ?? []).join("\n")}
          onChange={(e) =>
            change(
              e.target.value
                .split("\n")
                .filter(Boolean)
                .map((v) => (isNumber ? Number(v) : v)),
            )
          }
        />
        {hint}
      </div>
    );
  }
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {required && <span aria-hidden="true"> *</span>}
      </label>
      {schema.enum ? (
        schema.enum.length <= 4 ? (
          <div className="segments" role="radiogroup" aria-label={label}>
            {schema.enum.map((option: any) => (
              <label key={String(option)}>
                <input
                  type="radio"
                  name={id}
                  required={required}
                  checked={value === option}
                  onChange={() => change(option)}
                />
                <span>{String(option)}</span>
              </label>
            ))}
          </div>
        ) : (
          <select
            {...common}
            value={value ?? ""}
            onChange={(e) => change(schema.enum.find((o: any) => String(o) === e.target.value))}
          >
            <option value="" disabled={required} />
            {schema.enum.map((option: any) => (
              <option key={String(option)}>{String(option)}</option>
            ))}
          </select>
        )
      ) : schema.maxLength > 100 || schema.format === "textarea" ? (
        <textarea
          {...common}
          rows={3}
          maxLength={schema.maxLength}
          value={value ?? ""}
          onChange={(e) => change(e.target.value || undefined)}
        />
      ) : (
        <input
          {...common}
          type={number ? "number" : (FORMATS[schema.format] ?? "text")}
          step={schema.type === "integer" ? 1 : "any"}
          min={schema.minimum}
          max={schema.maximum}
          minLength={schema.minLength}
          maxLength={schema.maxLength}
          pattern={schema.pattern}
          value={value ?? ""}
          onChange={(e) => change(e.target.value === "" ? undefined : number ? e.target.valueAsNumber : e.target.value)}
        />
      )}
      {hint}
    </div>
  );
}
const Fields = ({
  schema,
  root,
  value,
  change,
}: {
  schema: Schema;
  root: Schema;
  value: any;
  change: (value: any) => void;
}) => (
  <>
    {Object.entries<Schema>(schema.properties ?? {}).map(([key, property]) => (
      <Field
        key={key}
        name={key}
        schema={property}
        root={root}
        required={schema.required?.includes(key) ?? false}
        value={value?.[key]}
        change={(next) => change({ ...value, [key]: next })}
      />
    ))}
  </>
);

/** A form for what a JSON Schema describes; the server has the last word on the answer. */
export function SchemaForm({
  schema: given,
  start,
  submit,
  actions,
}: {
  schema: Schema;
  start?: any;
  submit: (value: any) => void;
  actions: React.ReactNode;
}) {
  const [value, setValue] = useState(() => start ?? initial(given)),
    [text, setText] = useState(() => JSON.stringify(start ?? initial(given) ?? {}, null, 2)),
    [wrong, setWrong] = useState("");
  const known = supported(given),
    schema = plain(given, given),
    isObject = schema.type === "object";
  return (
    <form
      className="schema-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (known) return submit(value);
        try {
          submit(JSON.parse(text));
        } catch (error) {
          setWrong((error as Error).message);
        }
      }}
    >
      {!known ? (
        <div className="field">
          <textarea
            aria-label="Answer as JSON"
            rows={6}
            className="mono"
            value={text}
            onChange={(e) => setText(e.target.value)}
          />
          {wrong && (
            <small role="alert" className="wrong">
              {wrong}
            </small>
          )}
        </div>
      ) : isObject ? (
        <Fields schema={schema} root={given} value={value} change={setValue} />
      ) : (
        <Field name="Answer" schema={schema} root={given} required value={value} change={setValue} />
      )}
      <div className="actions">{actions}</div>
    </form>
  );
}
