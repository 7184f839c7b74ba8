/** Pure. A new id, also where browsers have no `crypto.randomUUID`: on http, except on localhost. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Where a thread is in this page, and how everything begins that the page keeps about it. */
export const addressOf = (agent: string, thread: string): string =>
  `#/${encodeURIComponent(agent)}/${encodeURIComponent(thread)}`;
