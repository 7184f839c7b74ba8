/** Pure. The client's messages as what is drawn: results at their calls, subagents inside theirs, one turn per answer. */

import type {
  ActivityMessage,
  AssistantMessage,
  Message,
  ReasoningMessage,
  ToolCall,
  ToolMessage,
  UserMessage,
} from "@ag-ui/client";
import { objectOf, textOf } from "./json.ts";
import type { Extra, Notes, Subagent } from "./notes.ts";

export type UserBlock = { kind: "user"; id: string; message: UserMessage };
export type CallBlock = { kind: "call"; id: string; call: ToolCall; result?: ToolMessage; inner: Block[] };
export type SubagentBlock = { kind: "subagent"; id: string; subagent: Subagent; inner: Block[] };
export type Block =
  | UserBlock
  | CallBlock
  | SubagentBlock
  | { kind: "text"; id: string; message: AssistantMessage }
  | { kind: "reasoning"; id: string; message: ReasoningMessage }
  | { kind: "activity"; id: string; message: ActivityMessage }
  | { kind: "extra"; id: string; extra: Extra };
export type Turn = { id: string; role: "user" | "assistant"; blocks: Block[] };

export type Shown = Pick<Notes, "extras" | "subagents"> & { messages: readonly Message[] };

export function timeline(shown: Shown): Turn[] {
  const drawing = new Drawing(shown);
  const ids = new Set(shown.messages.map(({ id }) => id));
  const lost = shown.extras.filter(({ after }) => after && !ids.has(after));
  const behind = (id: string | undefined) =>
    drawing.extras(shown.extras.filter(({ after }) => (after || undefined) === id));
  behind(undefined);
  let turn: string | undefined;
  for (const message of shown.messages) {
    // The message that an event stood behind may be gone. Its turn is the next best place.
    if (message.role === "user") drawing.extras(lost.filter((extra) => extra.turn === turn));
    if (message.role === "user") turn = message.id;
    drawing.message(message);
    behind(message.id);
  }
  drawing.extras(lost.filter((extra) => extra.turn === turn));
  drawing.subagents();
  return drawing.turns;
}

class Drawing {
  readonly turns: Turn[] = [];
  private readonly shown: Shown;
  private readonly results: Map<string, ToolMessage>;
  private readonly calls = new Map<string, CallBlock>();
  private readonly containers = new Map<string, SubagentBlock>();

  constructor(shown: Shown) {
    this.shown = shown;
    this.results = new Map(
      shown.messages.flatMap((message) => (message.role === "tool" ? [[message.toolCallId, message] as const] : [])),
    );
  }

  message(message: Message): void {
    const { id } = message;
    if (message.role === "user") this.turns.push({ id, role: "user", blocks: [{ kind: "user", id, message }] });
    if (message.role === "reasoning") this.place({ kind: "reasoning", id, message }, message.subagentRunId);
    if (message.role === "activity") this.activity(message);
    if (message.role === "assistant") {
      if (message.content) this.place({ kind: "text", id, message }, message.subagentRunId);
      for (const call of message.toolCalls ?? []) this.call(call, message.subagentRunId);
    }
  }

  /** Whoever emitted it meant it for the user: it stands beside the subagent's card, which is folded in the end. */
  extras(extras: readonly Extra[]): void {
    for (const extra of extras) this.place({ kind: "extra", id: extra.key, extra }, undefined);
  }

  /** Subagents that have said nothing yet. Those whose call is gone have no place. */
  subagents(): void {
    for (const { id, parentToolCallId } of Object.values(this.shown.subagents)) {
      if (parentToolCallId && this.calls.has(parentToolCallId)) this.container(id);
    }
  }

  private call(call: ToolCall, owner: string | undefined): void {
    const block: CallBlock = { kind: "call", id: call.id, call, result: this.results.get(call.id), inner: [] };
    this.calls.set(call.id, block);
    this.place(block, owner);
  }

  /** An activity that names a call belongs to its card, progress to its call or subagent. Others are for the user, like events. */
  private activity(message: ActivityMessage): void {
    const progress = message.activityType === "progress";
    const { toolCallId } = objectOf(objectOf(message.metadata).langgraph);
    const named = textOf(message.content.toolCallId) ?? (progress ? textOf(toolCallId) : undefined);
    const block: Block = { kind: "activity", id: message.id, message };
    const call = this.calls.get(named ?? "");
    if (call) call.inner.push(block);
    else this.place(block, progress ? message.subagentRunId : undefined);
  }

  private place(block: Block, owner: string | undefined): void {
    if (owner) return void this.container(owner).inner.push(block);
    if (this.turns.at(-1)?.role !== "assistant") this.turns.push({ id: block.id, role: "assistant", blocks: [] });
    this.turns.at(-1)?.blocks.push(block);
  }

  /** A subagent's place: in the call that started it, in its parent, or in the turn. */
  private container(id: string): SubagentBlock {
    const found = this.containers.get(id);
    if (found) return found;
    // A page that opens later gets the messages of a subagent, and no events about it.
    const unknown = { id, name: "Subagent", parentId: undefined, parentToolCallId: undefined, error: undefined };
    const subagent: Subagent = this.shown.subagents[id] ?? { ...unknown, status: "done" };
    const block: SubagentBlock = { kind: "subagent", id, subagent, inner: [] };
    this.containers.set(id, block);
    const call = this.calls.get(subagent.parentToolCallId ?? "");
    if (call) call.inner.push(block);
    else this.place(block, subagent.parentId);
    return block;
  }
}
