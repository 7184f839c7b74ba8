import { useState } from "react";
import { brief, isObject } from "../agent/json.ts";

/** Entries that are shown at first, and levels that are drawn: what is deeper stands there as JSON. */
const MOST = 50;
const DEEPEST = 6;

/** Any JSON, for people: objects as pairs, lists as lists. */
export function ValueView({ value, level = 0 }: { value: unknown; level?: number }) {
  const [all, setAll] = useState(false);
  const isList = Array.isArray(value);
  if (level === DEEPEST || !(isList || isObject(value))) {
    return (
      <span className="value" dir="auto">
        {brief(value)}
      </span>
    );
  }
  const entries = Object.entries(value);
  const shown = all ? entries : entries.slice(0, MOST);
  const more = shown.length < entries.length && (
    <button type="button" className="button small" onClick={() => setAll(true)}>
      Show all {entries.length}
    </button>
  );
  if (isList) {
    return (
      <>
        <ul className="values">
          {shown.map(([n, item]) => (
            <li key={n}>
              <ValueView value={item} level={level + 1} />
            </li>
          ))}
        </ul>
        {more}
      </>
    );
  }
  return (
    <>
      <dl className="values">
        {shown.map(([name, part]) => (
          <div key={name}>
            <dt>{name.replaceAll("_", " ")}</dt>
            <dd>
              <ValueView value={part} level={level + 1} />
            </dd>
          </div>
        ))}
      </dl>
      {more}
    </>
  );
}
