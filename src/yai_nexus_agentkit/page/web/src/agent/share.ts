/** Pure. The client copies everything with every event; React draws only what is a new object. */

/** `next`, with all of its parts that equal those of `previous` taken from there. */
export function share<T>(previous: T, next: T, depth = 0): T {
  if (Object.is(previous, next) || typeof previous !== typeof next) return Object.is(previous, next) ? previous : next;
  // Deeper values are drawn again; some would be too deep for the stack.
  if (depth > DEEPEST) return next;
  if (Array.isArray(previous) && Array.isArray(next)) {
    const parts = next.map((part: unknown, n) => share(previous[n] as unknown, part, depth + 1));
    const same = parts.length === previous.length && parts.every((part, n) => Object.is(part, previous[n]));
    return same ? previous : (parts as T);
  }
  if (!isRecord(previous) || !isRecord(next)) return next;
  const keys = Object.keys(next);
  const parts = keys.map((key) => [key, share(previous[key], next[key], depth + 1)] as const);
  const same =
    keys.length === Object.keys(previous).length && parts.every(([key, part]) => Object.is(part, previous[key]));
  return same ? previous : (Object.fromEntries(parts) as T);
}

const DEEPEST = 200;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
