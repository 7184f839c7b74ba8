/** Pure. The list of threads, of which the server gives the newest. */

import { PAGE_SIZE, type ThreadInfo } from "../agent/client.ts";

/** The list after its newest threads were read again. Older ones, which the user asked for, stay behind them. */
export function refreshed(known: readonly ThreadInfo[], newest: readonly ThreadInfo[]): readonly ThreadInfo[] {
  const last = newest.at(-1);
  if (!last || newest.length < PAGE_SIZE) return newest;
  const read = new Set(newest.map(({ threadId }) => threadId));
  return [...newest, ...known.filter((one) => one.updatedAt <= last.updatedAt && !read.has(one.threadId))];
}
