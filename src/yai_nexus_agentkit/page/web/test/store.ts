import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import type { Message } from "@ag-ui/client";
import { ThreadStore } from "../src/agent/store.ts";
import { pageTools } from "../src/agent/tools.ts";
import type { View } from "../src/agent/view.ts";

type Answer = object[] | number | "lost" | Promise<object[]>;

/** What a server answers to each kind of request, one after the other; the last answer stays. */
type Script = { run?: Answer[]; connect?: Answer[]; cancel?: Answer[] };

globalThis.requestAnimationFrame = (draw) => setTimeout(draw, 0, 0) as unknown as number;
globalThis.cancelAnimationFrame = (frame) => clearTimeout(frame);
console.error = () => undefined; // The client prints each failure.

const began = (runId = "r") => ({ type: "RUN_STARTED", threadId: "t", runId });
const ended = { type: "RUN_FINISHED", threadId: "t", runId: "r" };
const cancelled = { ...ended, outcome: { type: "cancelled" } };
const chart = { type: "CUSTOM", name: "chart", value: 1 };
const user = (content: string): Message => ({ id: `u-${content}`, role: "user", content });
const thread = (...messages: Message[]) => [began("look"), { type: "MESSAGES_SNAPSHOT", messages }, ended];
const said = (id: string) => [
  { type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: id, delta: id },
  { type: "TEXT_MESSAGE_END", messageId: id },
];
const call = [
  { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "slow" },
  { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: "{}" },
  { type: "TOOL_CALL_END", toolCallId: "c" },
];
const busy = { detail: { error: "THREAD_BUSY", error_description: "busy" } };

/** A stream that stays open until `end`. */
function held(...events: object[]) {
  let finish: (events: object[]) => void = () => undefined;
  const rest = new Promise<object[]>((done) => (finish = done));
  return { events, rest, finish };
}

let opens = 0;

function opened(script: Script, thread = `t${++opens}`) {
  const asked: string[] = [];
  const sent: Message[][] = [];
  const heard: string[] = [];
  globalThis.fetch = async (address, init) => {
    const kind = /(connect|cancel)$/.exec(String(address))?.[1] ?? "run";
    asked.push(kind);
    if (kind === "run") sent.push((JSON.parse(String(init?.body)) as { messages: Message[] }).messages);
    const answers = script[kind as keyof Script] ?? [[]];
    const answer = await (answers.length > 1 ? answers.shift() : answers[0]);
    if (answer === "lost") throw new TypeError("fetch failed");
    if (typeof answer === "number") return Response.json(answer === 409 ? busy : {}, { status: answer });
    return new Response(streamed(answer ?? []), { headers: { "content-type": "text/event-stream" } });
  };
  const watcher = { started: () => void heard.push("started"), ended: () => void heard.push("ended") };
  const store = new ThreadStore({ name: "agent", url: "http://server/agent" }, thread, watcher);
  const until = (seen: (view: View) => boolean) =>
    new Promise<View>((done) => {
      const look = () => seen(store.snapshot()) && (leave(), done(store.snapshot()));
      const leave = store.subscribe(look);
      look();
    });
  return { store, asked, sent, heard, until };
}

/** Server-sent events; one that is a `held` stream goes on when its test says so. */
const streamed = (events: object[]) =>
  new ReadableStream<Uint8Array>({
    async start(controller) {
      const write = (event: object) => controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`));
      for (const event of events) {
        if ("rest" in event) for (const later of await (event.rest as Promise<object[]>)) write(later);
        else write(event);
      }
      controller.close();
    },
  });

const texts = ({ messages }: View) => messages.map(({ content }) => content);

afterEach(() => void delete pageTools.slow);

test("only a run that was sent from here is made known to other windows", async () => {
  const late = held();
  const { store, heard } = opened({ connect: [[late]], run: [[began(), ...said("a"), ended]] });
  setTimeout(() => late.finish(thread(user("hi"))), 700);
  await store.join();
  assert.deepEqual(heard, ["ended"]);
  await store.send("go on");
  assert.deepEqual(heard, ["ended", "started", "ended"]);
});

test("a request without an answer: the server says whether the message came", async () => {
  const run: Answer[] = ["lost", [began(), ...said("answer"), ended]];
  const connect: Answer[] = [[]];
  const { store, sent } = opened({ run, connect });
  await store.send("hi");
  assert.equal(store.snapshot().trouble?.message, "The message did not reach the server.");
  assert.deepEqual(texts(store.snapshot()), ["hi"]);
  await store.retry();
  assert.equal(store.snapshot().trouble, null);
  assert.deepEqual(texts(store.snapshot()), ["hi", "answer"]);
  assert.equal(sent[0]?.[0]?.id, sent[1]?.[0]?.id);

  const id = sent[0]?.[0]?.id ?? "";
  run.splice(0, 2, "lost");
  connect[0] = thread({ id, role: "user", content: "edited" }, { id: "b", role: "assistant", content: "new" });
  await store.send("edited", id);
  assert.equal(store.snapshot().trouble, null);
  assert.deepEqual(texts(store.snapshot()), ["edited", "new"]);
  assert.equal(sent.length, 3);

  await store.send("edited again", id);
  assert.equal(store.snapshot().trouble?.retry, "run");
  assert.deepEqual(texts(store.snapshot()), ["edited again"]);
});

test("an answer whose request was lost is given again if the server lacks it, and never twice", async () => {
  const open = (id: string) => {
    const interrupts = [{ id, reason: "input_required", message: "Really?" }];
    return [...thread(user("hi")).slice(0, 2), { ...ended, outcome: { type: "interrupt", interrupts } }];
  };
  const answered = [began(), ...said("done"), ended];
  const done = thread(user("hi"), { id: "done", role: "assistant", content: "done" });
  const away: Answer[] = ["lost", "lost", "lost", "lost"];
  const [ungiven, lost] = ["The answer did not reach the server.", "The connection was lost."];
  // What the server answers to those who look, why the page stops, how many requests carry the answer, what is shown.
  const cases: [Answer[], string, number, string[]][] = [
    [[open("q")], ungiven, 2, ["hi", "done"]],
    [[...away, open("q")], lost, 2, ["hi", "done"]],
    [[...away, done], lost, 1, ["hi", "done"]],
    [[...away, open("other")], lost, 1, ["hi"]],
  ];
  const later = globalThis.setTimeout;
  globalThis.setTimeout = ((work: () => void, wait = 0) => later(work, wait / 100)) as typeof setTimeout;
  for (const [looks, why, runs, shown] of cases) {
    const { store, asked } = opened({ run: ["lost", answered], connect: [open("q"), ...looks] });
    await store.join();
    await store.answer([{ interruptId: "q", status: "resolved", payload: true }]);
    assert.equal(store.snapshot().trouble?.message, why);
    await store.retry();
    assert.equal(store.snapshot().trouble, null);
    assert.deepEqual(texts(store.snapshot()), shown);
    assert.equal(asked.filter((kind) => kind === "run").length, runs);
  }
  globalThis.setTimeout = later;
});

test("a tool of the page whose result was lost is not called again", async () => {
  let calls = 0;
  pageTools.slow = { description: "", parameters: { type: "object" }, run: () => `result ${++calls}` };
  const toolCalls = [{ id: "c", type: "function" as const, function: { name: "slow", arguments: "{}" } }];
  const asking = thread(user("hi"), { id: "a", role: "assistant", toolCalls });
  const { store } = opened({
    run: [[began(), ...call, ended], "lost", [began("2"), ...said("done"), ended]],
    connect: [asking],
  });
  await store.send("hi");
  assert.deepEqual(texts(store.snapshot()).slice(-2), ["result 1", "done"]);
});

test("an answer that was cut off and is not stored is not taken for complete", async () => {
  const { store } = opened({ run: [[began(), ...said("a")]], connect: [[]] });
  await store.send("hi");
  assert.equal(store.snapshot().trouble?.message, "The connection was lost.");
  assert.deepEqual(texts(store.snapshot()), ["hi", "a"]);
});

test("a message that came too late goes back into the box, each time", async () => {
  const { store } = opened({ run: [409], connect: [thread(user("other"))] });
  await store.send("mine");
  const first = store.snapshot().returned;
  assert.deepEqual([first?.content, texts(store.snapshot())], ["mine", ["other"]]);
  await store.send("mine");
  assert.deepEqual(store.snapshot().returned, first);
  assert.notEqual(store.snapshot().returned, first);
  await store.send("edited", "u-other");
  assert.equal(store.snapshot().returned?.content, "edited");
});

test("a message that is too large goes back into the box, so that others can be sent", async () => {
  const run: Answer[] = [[began(), ...said("a"), ended], 413, [began(), ...said("b"), ended]];
  const { store, sent } = opened({ run, connect: [[]] });
  await store.send("hi");
  await store.send("huge");
  const { returned, trouble } = store.snapshot();
  assert.deepEqual([returned?.content, trouble?.retry, texts(store.snapshot())], ["huge", null, ["hi", "a"]]);
  assert.match(trouble?.message ?? "", /too large/);
  await store.send("small");
  assert.deepEqual(sent.at(-1)?.map(({ content }) => content), ["hi", "a", "small"]);
});

test("a proxy that answers for a server which is away is asked again", async () => {
  const { store, asked } = opened({ run: [[began(), ...said("a")]], connect: [502, [began(), ...said("a"), ended]] });
  await store.send("hi");
  assert.deepEqual([asked, store.snapshot().trouble], [["run", "connect", "connect"], null]);
});

test("a server that has lost the conversation is no answer", async () => {
  const { store } = opened({ run: [[began(), ...said("a"), ended]], connect: [[]] });
  await store.send("hi");
  await store.join();
  assert.equal(store.snapshot().notice, "The server has nothing of this conversation any more.");
});

test("a run that another window begins meanwhile is shown afterwards", async () => {
  const run = held();
  const { store, asked, until } = opened({ run: [[began(), run]], connect: [thread(user("here"), user("there"))] });
  const done = store.send("here");
  await until(({ phase }) => phase === "open");
  await store.follows();
  assert.deepEqual(asked, ["run"]);
  run.finish([...said("a"), ended]);
  await done;
  await until(({ messages, status }) => status === "idle" && messages.length === 2);
  assert.deepEqual(asked, ["run", "connect"]);
});

test("a run that has not begun is stopped when it begins", async () => {
  const run = held();
  const { store, asked, until } = opened({ run: [[run]], cancel: [404, 200] });
  const done = store.send("hi");
  await new Promise((later) => setTimeout(later));
  await store.stop();
  assert.equal(store.snapshot().status, "stopping");
  run.finish([began(), cancelled]);
  await done;
  await until(({ status }) => status === "idle");
  assert.deepEqual(asked, ["run", "cancel", "cancel"]);
  assert.equal(store.snapshot().stopped, true);
});

test("a stop that does not reach the server is no stop", async () => {
  const run = held();
  const { store, until } = opened({ run: [[began(), ...said("a"), run]], cancel: ["lost"] });
  const done = store.send("hi");
  await until(({ phase }) => phase === "open");
  await store.stop();
  const { status, trouble, stopped } = store.snapshot();
  assert.deepEqual([status, stopped], ["running", false]);
  assert.equal(trouble?.message, "The agent was not stopped. The server cannot be reached.");
  run.finish([ended]);
  await done;
  assert.equal(store.snapshot().trouble, null);
});

test("a stop while the connection is lost is done when it is back", async () => {
  const { store, asked, until } = opened({
    run: [[began(), ...said("a")]],
    connect: ["lost", [began(), ...said("a"), cancelled]],
    cancel: ["lost", 200],
  });
  const done = store.send("hi");
  await until(({ status }) => status === "reconnecting");
  await store.stop();
  await done;
  assert.deepEqual(asked, ["run", "cancel", "connect", "connect", "cancel"]);
  assert.equal(store.snapshot().stopped, true);
});

test("the page's tools are work: nothing else begins meanwhile, and it can be stopped", async () => {
  let finish: (value: string) => void = () => undefined;
  const parameters = { type: "object" };
  pageTools.slow = { description: "", parameters, run: () => new Promise((done) => (finish = done)) };
  const { store, sent, heard, until } = opened({ run: [[began(), ...call, ended], [began("2"), ...said("done"), ended]] });
  const done = store.send("hi");
  await until(({ status }) => status === "tools");
  assert.deepEqual(heard, ["started"]);
  finish("result");
  await done;
  assert.deepEqual(texts(store.snapshot()).slice(-2), ["result", "done"]);
  assert.deepEqual(heard, ["started", "started", "ended"]);

  const other = opened({ run: [[began(), ...call, ended]] });
  const stopped = other.store.send("hi");
  await other.until(({ status }) => status === "tools");
  await other.store.stop();
  assert.deepEqual([other.store.snapshot().status, other.store.snapshot().stopped], ["idle", true]);
  finish("late");
  await stopped;
  assert.equal(other.sent.length, 1);
  assert.equal(sent.length, 2);
});

test("a tool that was left in the middle is called again when the user says so", async () => {
  pageTools.slow = { description: "", parameters: { type: "object" }, run: () => "result" };
  const toolCalls = [{ id: "c", type: "function" as const, function: { name: "slow", arguments: "{}" } }];
  const { store } = opened({
    connect: [thread(user("hi"), { id: "a", role: "assistant", toolCalls })],
    run: [[began(), ...said("done"), ended]],
  });
  await store.join();
  assert.equal(store.snapshot().trouble?.retry, "tools");
  await store.retry();
  assert.equal(store.snapshot().trouble, null);
  assert.deepEqual(texts(store.snapshot()).slice(-2), ["result", "done"]);
});

test("what a run drew stays when another window goes on", async () => {
  const messages: Message[] = [user("hi"), { id: "a", role: "assistant", content: "a" }];
  const { store } = opened({ run: [[began(), ...said("a"), chart, ended]], connect: [thread(...messages, user("next"))] });
  await store.send("hi");
  await store.join();
  assert.equal(store.snapshot().extras.length, 1);
});

test("a message that was refused is there after a reload, and is sent again once", async () => {
  const before = opened({ run: [401] }, "signed-out");
  await before.store.send("hi");
  assert.equal(before.store.snapshot().trouble?.message, "You are not signed in.");

  const after = opened({ connect: [[]], run: [[began(), ...said("answer"), ended]] }, "signed-out");
  await after.store.join();
  assert.equal(after.store.snapshot().trouble?.message, "The message did not reach the server.");
  assert.deepEqual(texts(after.store.snapshot()), ["hi"]);
  await after.store.retry();
  assert.deepEqual(texts(after.store.snapshot()), ["hi", "answer"]);
  assert.equal(after.sent[0]?.[0]?.id, before.sent[0]?.[0]?.id);

  const later = opened({ connect: [thread(user("hi"))] }, "signed-out");
  await later.store.join();
  assert.equal(later.store.snapshot().trouble, null);
});
