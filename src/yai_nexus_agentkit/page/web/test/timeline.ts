import assert from "node:assert/strict";
import { test } from "node:test";
import type { AGUIEvent, Message } from "@ag-ui/client";
import { pretty } from "../src/agent/json.ts";
import { type Notes, noted, nothing } from "../src/agent/notes.ts";
import { share } from "../src/agent/share.ts";
import { type Block, timeline } from "../src/agent/timeline.ts";
import { ticksOf } from "../src/widgets/ticks.ts";

const user = (id: string): Message => ({ id, role: "user", content: id });
const says = (id: string, subagentRunId?: string): Message => ({ id, role: "assistant", content: id, subagentRunId });
const calls = (id: string): Message => {
  const toolCalls = [{ id: `call-${id}`, type: "function" as const, function: { name: "look", arguments: "{}" } }];
  return { id, role: "assistant", toolCalls };
};
const events = (...given: object[]): Notes =>
  given.reduce<Notes>((notes, event) => noted(notes, event as AGUIEvent, "a1", "u1"), nothing);

/** The kinds of the blocks, nested. */
const kinds = (blocks: Block[]): unknown[] =>
  blocks.map((block) => ("inner" in block && block.inner.length > 0 ? [block.kind, kinds(block.inner)] : block.kind));
const drawn = (messages: Message[], notes: Notes = nothing) =>
  timeline({ ...notes, messages }).map(({ blocks }) => kinds(blocks));

test("one turn per answer, and each result at its call", () => {
  const result: Message = { id: "r", role: "tool", toolCallId: "call-a1", content: "found" };
  const messages = [user("u1"), calls("a1"), result, says("a2"), user("u2"), says("a3")];
  assert.deepEqual(drawn(messages), [["user"], ["call", "text"], ["user"], ["text"]]);
  const block = timeline({ ...nothing, messages })[1]?.blocks[0];
  assert.equal(block?.kind === "call" && block.result?.content, "found");
});

test("subagents stand in the calls that started them, and in each other", () => {
  const notes = events(
    { type: "SUBAGENT_STARTED", subagentRunId: "s1", name: "one", parentToolCallId: "call-a1" },
    { type: "SUBAGENT_STARTED", subagentRunId: "s2", name: "two", parentSubagentRunId: "s1" },
    { type: "SUBAGENT_ERROR", subagentRunId: "s2", message: "no" },
  );
  const messages = [user("u1"), calls("a1"), says("b1", "s1"), says("b2", "s2"), says("a2")];
  assert.deepEqual(drawn(messages, notes), [
    ["user"],
    [["call", [["subagent", ["text", ["subagent", ["text"]]]]]], "text"],
  ]);
  assert.equal(notes.subagents.s2?.status, "failed");
  // Before it says anything, and after a reload, when nobody knows its name.
  assert.deepEqual(drawn([user("u1"), calls("a1")], notes)[1], [["call", ["subagent"]]]);
  assert.deepEqual(drawn([user("u1"), says("b1", "s9"), says("a2")])[1], [["subagent", ["text"]], "text"]);
});

test("an activity of a call is drawn at its card", () => {
  const activity: Message = { id: "p", role: "activity", activityType: "x", content: { toolCallId: "call-a1" } };
  assert.deepEqual(drawn([user("u1"), calls("a1"), says("a2"), activity])[1], [["call", ["activity"]], "text"]);
  const metadata = { langgraph: { toolCallId: "call-a1" } };
  const bar: Message = { ...activity, activityType: "progress", content: {}, metadata };
  assert.deepEqual(drawn([user("u1"), calls("a1"), says("a2"), bar])[1], [["call", ["activity"]], "text"]);
});

test("what a subagent draws is not folded with it", () => {
  const notes = events({ type: "CUSTOM", name: "chart", value: 1, subagentRunId: "s1" });
  const activity = (id: string, activityType: string): Message => {
    return { id, role: "activity", activityType, content: {}, subagentRunId: "s1" };
  };
  const messages = [user("u1"), says("a1", "s1"), activity("p", "progress"), activity("c", "chart"), says("a2")];
  const inSubagent = ["subagent", ["text", "activity"]];
  assert.deepEqual(drawn(messages, notes)[1], [inSubagent, "extra", "activity", "text"]);
});

test("an event stays behind its message, or in its turn", () => {
  const notes = events({ type: "CUSTOM", name: "chart", value: 1 });
  assert.deepEqual(drawn([user("u1"), says("a1"), says("a2")], notes)[1], ["text", "extra", "text"]);
  assert.deepEqual(drawn([user("u1"), says("other"), user("u2")], notes)[1], ["text", "extra"]);
  assert.deepEqual(drawn([user("u9"), says("a9")], notes).flat(), ["user", "text"]);
});

test("a kept event that comes again takes the place of the first one", () => {
  const kept = { type: "CUSTOM", name: "pin", metadata: { "agentkit.kept": "pin" } };
  const again = { ...kept, value: 2, metadata: { "agentkit.kept": "pin", "agentkit.after": "a0" } };
  const notes = events({ ...kept, value: 1 }, again);
  assert.deepEqual(
    notes.extras.map(({ value, after }) => [value, after]),
    [[2, "a0"]],
  );
});

test("a run that is followed from its beginning again shows its events once, and those of other runs stay", () => {
  const run = (runId: string) => ({ type: "RUN_STARTED", threadId: "t", runId });
  const chart = { type: "CUSTOM", name: "chart", value: 1 };
  assert.equal(events(run("1"), chart, run("1"), chart).extras.length, 1);
  assert.equal(events(run("1"), chart, run("2")).extras.length, 1);
});

test("an answer that was stopped, now or before the page opened", () => {
  const ends = (end: object) => events({ type: "RUN_STARTED" }, { type: "RUN_FINISHED", ...end }).stopped;
  assert.equal(ends({}), false);
  assert.equal(ends({ outcome: { type: "cancelled" } }), true);
  for (const framework of ["langgraph", "adk"])
    assert.equal(ends({ metadata: { [framework]: { unfinished: true } } }), true);
});

test("a chart has round numbers beside it", () => {
  const cases: [number[], number[]][] = [
    [[2.6, 1.1], [0, 1, 2, 3]],
    [[21, 12, 18], [0, 5, 10, 15, 20, 25]],
    [[0.07], [0, 0.02, 0.04, 0.06, 0.08]],
    [[-30, 40], [-40, -20, 0, 20, 40]],
    [[-1], [-1, -0.8, -0.6, -0.4, -0.2, 0]],
    [[5000, NaN], [0, 1000, 2000, 3000, 4000, 5000]],
    [[0], [0, 0.2, 0.4, 0.6, 0.8, 1]],
    [[], [0, 0.2, 0.4, 0.6, 0.8, 1]],
  ];
  for (const [values, ticks] of cases) assert.deepEqual(ticksOf(values), ticks);
});

test("equal parts stay the same objects", () => {
  const before = { list: [{ a: 1 }, { b: 2 }], other: { c: 3 } };
  const after = share(before, { list: [{ a: 1 }, { b: 9 }], other: { c: 3 } });
  assert.equal(after.list[0], before.list[0]);
  assert.equal(after.other, before.other);
  assert.deepEqual(after.list[1], { b: 9 });
  assert.equal(share(before, structuredClone(before)), before);
});

test("values of any depth are compared and shown", () => {
  const deep = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
  const [one, other] = [JSON.parse(deep(50_000)) as unknown, JSON.parse(deep(50_000)) as unknown];
  assert.equal(share([one, 1], [other, 1])[1], 1);
  assert.equal(pretty(deep(50_000)).length, 100_000);
  assert.equal(pretty("[1]"), "[\n  1\n]");
});
