/** Pure. JSON whose shape is not known: what tools, events and questions carry. */

export type JsonObject = Record<string, unknown>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});

export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** The text, or undefined for anything else and for "". */
export const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** The value of a JSON text; undefined while it is not complete. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Indented if it is JSON, else as it is. */
export function pretty(text: string): string {
  const value = parsed(text);
  try {
    return value === undefined ? text : JSON.stringify(value, null, 2);
  } catch {
    return text; // It is too deep for the stack.
  }
}

/** A scalar in words; anything larger as JSON. */
export function brief(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
