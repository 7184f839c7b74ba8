import type {
  ActivityMessage,
  AssistantMessage,
  Message,
  ReasoningMessage,
  ToolCall,
  ToolMessage,
  UserMessage,
} from "@ag-ui/client";
import type { Extra, Subagent, View } from "./store";

export type Call = { call: ToolCall; result?: ToolMessage; subagent?: Subagent; inner: Block[] };
export type Block =
  | { kind: "user"; id: string; index: number; message: UserMessage }
  | { kind: "text"; id: string; message: AssistantMessage }
  | { kind: "reasoning"; id: string; message: ReasoningMessage }
  | { kind: "call"; id: string; call: Call }
  | { kind: "activity"; id: string; message: ActivityMessage }
  | { kind: "extra"; id: string; extra: Extra };
export type Turn = { id: string; role: "user" | "assistant"; blocks: Block[] };

const owner = (message: Message) => (message as { subagentRunId?: string }).subagentRunId;

/** Messages in the client's order → what is drawn: results at their calls, subagents inside theirs, one turn per answer. */
export function timeline({ messages, extras, subagents }: Pick<View, "messages" | "extras" | "subagents">): Turn[] {
  const results = new Map(messages.flatMap((m) => (m.role === "tool" ? [[m.toolCallId, m] as const] : [])));
  const calls = new Map<string, Call>();
  const turns: Turn[] = [];
  const place = (block: Block, subagentRunId: string | undefined, role: Turn["role"] = "assistant") => {
    const parent = subagentRunId ? calls.get(subagents[subagentRunId]?.parentToolCallId ?? "") : undefined;
    if (parent) return void parent.inner.push(block);
    if (turns.at(-1)?.role !== role || role === "user") turns.push({ id: block.id, role, blocks: [] });
    turns.at(-1)!.blocks.push(block);
  };
  const follow = (id: string | undefined) =>
    extras
      .filter((e) => e.after === id)
      .forEach((extra) => place({ kind: "extra", id: extra.key, extra }, extra.subagentRunId));
  messages.forEach((message, index) => {
    const { id } = message;
    if (message.role === "user") place({ kind: "user", id, index, message }, undefined, "user");
    if (message.role === "reasoning") place({ kind: "reasoning", id, message }, owner(message));
    if (message.role === "activity") place({ kind: "activity", id, message }, owner(message));
    if (message.role === "assistant") {
      if (message.content) place({ kind: "text", id, message }, owner(message));
      for (const call of message.toolCalls ?? []) {
        const subagent = Object.values(subagents).find((s) => s.parentToolCallId === call.id);
        const entry: Call = { call, result: results.get(call.id), subagent, inner: [] };
        calls.set(call.id, entry);
        place({ kind: "call", id: call.id, call: entry }, owner(message));
      }
    }
    follow(id);
  });
  return turns;
}
