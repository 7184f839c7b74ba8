import { brief, isObject } from "../agent/json.ts";

/** Any JSON, for people: objects as pairs, lists as lists. */
export function ValueView({ value }: { value: unknown }) {
  if (Array.isArray(value)) {
    return (
      <ul className="values">
        {value.map((item, n) => (
          <li key={n}>
            <ValueView value={item} />
          </li>
        ))}
      </ul>
    );
  }
  if (!isObject(value)) return <span className="value">{brief(value)}</span>;
  return (
    <dl className="values">
      {Object.entries(value).map(([name, part]) => (
        <div key={name}>
          <dt>{name.replaceAll("_", " ")}</dt>
          <dd>
            <ValueView value={part} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
