/** Pure. What the official client does not keep of a run's events, and the page shows. */

import type { AGUIEvent } from "@ag-ui/client";
import { newId } from "./ids.ts";
import { objectOf, textOf } from "./json.ts";

/** A CUSTOM event. It is drawn behind the message `after`, or at the end of the turn of the user message `turn`. */
export type Extra = {
  key: string;
  name: string;
  value: unknown;
  after: string | undefined;
  turn: string | undefined;
  run: string | undefined;
};

export type Subagent = {
  id: string;
  name: string;
  parentId: string | undefined;
  parentToolCallId: string | undefined;
  status: "running" | "done" | "waiting" | "failed";
  error: string | undefined;
};

export type Notes = {
  extras: readonly Extra[];
  subagents: Readonly<Record<string, Subagent>>;
  /** Ids of the messages and calls that are being written. */
  streaming: readonly string[];
  /** The newest run's id. */
  run: string | undefined;
  /** "open" between RUN_STARTED and the end of the run. A stream that stops there was cut off. */
  phase: "none" | "open" | "ended";
  /** The last run was stopped, or the thread shows one that did not come to its end. */
  stopped: boolean;
  error: { message: string; code: string | undefined } | null;
};

export const nothing: Notes = {
  extras: [],
  subagents: {},
  streaming: [],
  run: undefined,
  phase: "none",
  stopped: false,
  error: null,
};

/** The notes after an event. `last` and `turn`: the ids of the newest message, and of the user's newest. */
export function noted(notes: Notes, event: AGUIEvent, last?: string, turn?: string): Notes {
  switch (event.type) {
    case "RUN_STARTED":
      return { ...notes, ...begun(notes, event.runId), phase: "open", stopped: false, error: null };
    case "RUN_FINISHED":
      return { ...notes, phase: "ended", streaming: [], stopped: isStopped(event) };
    case "RUN_ERROR":
      return { ...notes, phase: "ended", streaming: [], error: { message: event.message, code: event.code } };
    case "TEXT_MESSAGE_START":
    case "REASONING_MESSAGE_START":
      return { ...notes, streaming: [...notes.streaming, event.messageId] };
    case "TOOL_CALL_START":
      return { ...notes, streaming: [...notes.streaming, event.toolCallId] };
    case "TEXT_MESSAGE_END":
    case "REASONING_MESSAGE_END":
      return { ...notes, streaming: notes.streaming.filter((id) => id !== event.messageId) };
    case "TOOL_CALL_END":
      return { ...notes, streaming: notes.streaming.filter((id) => id !== event.toolCallId) };
    case "CUSTOM":
      return { ...notes, extras: withExtra(notes, event, last, turn) };
    case "SUBAGENT_STARTED":
    case "SUBAGENT_FINISHED":
    case "SUBAGENT_ERROR":
      return { ...notes, subagents: withSubagent(notes.subagents, event) };
    default:
      return notes;
  }
}

/** A page that connects to a run gets its events from the beginning; those that it has of it would stand there twice. */
const begun = ({ extras }: Notes, run: string): Pick<Notes, "extras" | "run"> => {
  return { run, extras: extras.filter((extra) => extra.run !== run) };
};

function isStopped({ outcome, metadata }: Extract<AGUIEvent, { type: "RUN_FINISHED" }>): boolean {
  const unfinished = [metadata?.langgraph, metadata?.adk].some((facts) => objectOf(facts).unfinished === true);
  return outcome?.type === "cancelled" || unfinished;
}

/** A kept event comes again when the page connects: with an id, and with the message that it stood behind. */
function withExtra(
  { extras, run }: Notes,
  event: Extract<AGUIEvent, { type: "CUSTOM" }>,
  last?: string,
  turn?: string,
): readonly Extra[] {
  const kept = textOf(event.metadata?.["agentkit.kept"]);
  const placed = event.metadata?.["agentkit.after"];
  const known = extras.findIndex(({ key }) => key === kept);
  const extra: Extra = {
    key: kept ?? newId(),
    name: event.name,
    value: event.value,
    after: typeof placed === "string" ? placed : (extras[known]?.after ?? last),
    turn: extras[known]?.turn ?? turn,
    run,
  };
  return known < 0 ? [...extras, extra] : extras.with(known, extra);
}

function withSubagent(
  subagents: Notes["subagents"],
  event: Extract<AGUIEvent, { type: "SUBAGENT_STARTED" | "SUBAGENT_FINISHED" | "SUBAGENT_ERROR" }>,
): Notes["subagents"] {
  const id = event.subagentRunId;
  if (event.type === "SUBAGENT_STARTED") {
    const { name, parentSubagentRunId: parentId, parentToolCallId } = event;
    return { ...subagents, [id]: { id, name, parentId, parentToolCallId, status: "running", error: undefined } };
  }
  const known = subagents[id];
  if (!known) return subagents;
  if (event.type === "SUBAGENT_ERROR") {
    return { ...subagents, [id]: { ...known, status: "failed", error: event.message } };
  }
  return { ...subagents, [id]: { ...known, status: event.outcome?.type === "suspended" ? "waiting" : "done" } };
}
