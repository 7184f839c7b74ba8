import { useState } from "react";
import type { JsonSchema } from "./schema.ts";

type Given = {
  id: string;
  "aria-invalid": true | undefined;
  "aria-describedby": string | undefined;
  schema: JsonSchema;
  value: unknown;
  change: (value: unknown) => void;
};

const INPUTS: Record<string, string> = {
  date: "date",
  "date-time": "datetime-local",
  time: "time",
  email: "email",
  uri: "url",
  password: "password",
};

/** From this length on, a text has several lines. */
const LONG = 100;

export function TextBox({ schema, value, change, ...marks }: Given) {
  const { format = "", maxLength = 0 } = schema;
  const text = typeof value === "string" ? value : "";
  const write = (next: string) => change(next === "" ? undefined : next);
  // Boxes of one line drop the line breaks of what they are given.
  const [long] = useState(() => maxLength > LONG || format === "textarea" || text.length > LONG || text.includes("\n"));
  if (long) {
    return <textarea {...marks} dir="auto" rows={3} value={text} onChange={(event) => write(event.target.value)} />;
  }
  const clock = CLOCKS[format];
  return (
    <input
      {...marks}
      dir="auto"
      type={INPUTS[format] ?? "text"}
      value={clock ? clock.shown(text) : text}
      onChange={(event) => write(clock && event.target.value ? clock.read(event.target.value) : event.target.value)}
    />
  );
}

/** Browsers leave out the seconds and the time zone, which JSON Schema demands. */
const CLOCKS: Record<string, { shown: (text: string) => string; read: (text: string) => string }> = {
  "date-time": {
    shown: (text) => local(text),
    read: (text) => `${text.length === 16 ? `${text}:00` : text}${zone(new Date(text))}`,
  },
  time: {
    shown: (text) => text.slice(0, 5),
    read: (text) => (text.length === 5 ? `${text}:00` : text),
  },
};

function zone(date: Date): string {
  const minutes = -date.getTimezoneOffset();
  const two = (number: number) => String(Math.floor(Math.abs(number))).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}

function local(text: string): string {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return "";
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export function NumberBox({ schema, whole, value, change, ...marks }: Given & { whole: boolean }) {
  // The text stays as it is written, while it means the value: "1." and "-" are on the way to a number.
  const [written, setWritten] = useState("");
  const text = Object.is(numberOf(written), value ?? undefined) ? written : String(value ?? "");
  const write = (next: string) => {
    setWritten(next);
    change(numberOf(next));
  };
  const least = schema.minimum ?? schema.exclusiveMinimum;
  const most = schema.maximum ?? schema.exclusiveMaximum;
  const range = least !== undefined && most !== undefined ? `${least} to ${most}` : undefined;
  return (
    <input
      {...marks}
      type="text"
      inputMode={whole ? "numeric" : "decimal"}
      placeholder={range}
      value={text}
      onChange={(event) => write(event.target.value)}
    />
  );
}

/** A text that is no number stays a text, and is a problem of the form. */
function numberOf(text: string): number | string | undefined {
  const number = Number(text.replace(",", "."));
  return text.trim() === "" ? undefined : Number.isNaN(number) ? text : number;
}
