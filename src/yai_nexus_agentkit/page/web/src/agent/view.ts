/** Pure. What is drawn of a thread, beside the events that the official client keeps. */

import type { Interrupt, Message, ResumeEntry, UserMessage } from "@ag-ui/client";
import { type Notes, nothing } from "./notes.ts";

export type Content = UserMessage["content"];

/**
 * What went wrong. `retry`: by running again, by looking what became of the run, by giving the last answers again, or by
 * calling the page's tools.
 */
export type Trouble = { message: string; code: string | undefined; retry: "run" | "join" | "answer" | "tools" | null };

export type View = Notes & {
  messages: readonly Message[];
  state: unknown;
  interrupts: readonly Interrupt[];
  /** What goes on. "tools": the page runs its own tools between two runs. */
  status: "idle" | "loading" | "running" | "tools" | "stopping" | "reconnecting";
  trouble: Trouble | null;
  notice: string | null;
  /** Grows with every event, so that the list of events is drawn again. */
  received: number;
  /** A message that was not sent. It goes back into the box; the same one twice is two objects. */
  returned: { content: Content } | null;
  /** The last answers, for the case that the server refused them. */
  given: Readonly<Record<string, ResumeEntry>>;
};

/** A thread in which nothing was said. */
export const empty: View = {
  ...nothing,
  messages: [],
  state: undefined,
  interrupts: [],
  status: "idle",
  trouble: null,
  notice: null,
  received: 0,
  returned: null,
  given: {},
};
