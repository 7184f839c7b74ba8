/** Pure. The list of threads, of which the server gives the newest. */

import { PAGE_SIZE, type ThreadInfo } from "../agent/client.ts";

/** The list after its newest threads were read again. Older ones, which the user asked for, stay behind them. */
export function refreshed(known: readonly ThreadInfo[], newest: readonly ThreadInfo[]): readonly ThreadInfo[] {
  const last = newest.at(-1);
  if (!last || newest.length < PAGE_SIZE) return newest;
  // Between the last one and what is known others may stand, unless that knows the last one, too.
  if (!known.some((one) => one.threadId === last.threadId && one.updatedAt === last.updatedAt)) return newest;
  return [...newest, ...without(newest, known).filter((one) => one.updatedAt <= last.updatedAt)];
}

/** The list after the threads behind its last one were read. */
export const extended = (known: readonly ThreadInfo[], older: readonly ThreadInfo[]): readonly ThreadInfo[] => [
  ...without(older, known),
  ...older,
];

function without(others: readonly ThreadInfo[], list: readonly ThreadInfo[]): readonly ThreadInfo[] {
  const ids = new Set(others.map(({ threadId }) => threadId));
  return list.filter(({ threadId }) => !ids.has(threadId));
}
