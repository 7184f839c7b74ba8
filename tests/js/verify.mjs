// Replays recorded runs through an official client, exactly as an HTTP response would reach it.
//
//   node verify.mjs --serve [--client 1.0.0]             one JSON request per line in, one JSON answer per line out
//   node verify.mjs [--client 1.0.0] [--chain] [FILE]    once: a JSON array of runs in, one JSON object out
//
// A request: {"id"?, "runs": [...], "chain"?: true}. A run: an array of event objects, or
//   {"events": [...], "input": {threadId, runId, messages, state, tools, context, forwardedProps, resume}}
//   or {"sse": "raw response text", "contentType"?, "status"?, "input"?}.
// With "chain" one client takes all runs, as on a thread: messages and state carry over.
// An answer: {id?, client, runs: [{ok, error?, accepted, terminal, messages, state, warnings, ...}]} or {id?, error}.
import { createInterface } from "node:readline";
import { captureConsole, endRecorder, loadClient, message, readInput, withTimeout } from "./lib.mjs";

const RUN_TIMEOUT_MS = 10000;
const turn = () => new Promise((resolve) => setImmediate(resolve));
const utf8 = new TextEncoder();

function options(argv) {
  const opt = { client: "1.0.0", chain: false, serve: false, file: undefined };
  for (let i = 0; i < argv.length; i++) {
    if (argv[i] === "--client") opt.client = argv[++i];
    else if (argv[i] === "--chain") opt.chain = true;
    else if (argv[i] === "--serve") opt.serve = true;
    else opt.file = argv[i];
  }
  return opt;
}

/** The run as an HTTP response: one chunk per frame and a turn of the event loop after it, so what came before a fault is applied. */
function asResponse(run) {
  const text = run.sse ?? (run.events ?? []).map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const body = new ReadableStream({
    async start(controller) {
      for (const frame of text.split(/(?<=\n\n)/)) {
        controller.enqueue(utf8.encode(frame));
        await turn();
      }
      controller.close();
    },
  });
  return new Response(body, { status: run.status ?? 200, headers: { "content-type": run.contentType ?? "text/event-stream" } });
}

function makeAgent(lib, input) {
  return new lib.HttpAgent({
    url: "http://replay.invalid/",
    threadId: input.threadId ?? "thread",
    initialMessages: input.messages ?? [],
    ...(input.state !== undefined && { initialState: input.state }),
  });
}

/** Bring a client that saw earlier runs to where the request starts. */
function proceed(agent, input) {
  if (input.messages) agent.setMessages(input.messages);
  if (input.state !== undefined) agent.setState(input.state);
  // Replaying without the request: what answered the open interrupts is not known, so let the run start.
  if (!input.resume && agent.pendingInterrupts) agent.pendingInterrupts = [];
}

async function replay(agent, run, log) {
  const input = run.input ?? {};
  globalThis.fetch = async () => asResponse(run);
  const before = new Set(agent.messages.map((m) => m.id));
  const result = { ok: false, accepted: false, terminal: null };
  try {
    const { tools, context, forwardedProps, runId, resume } = input;
    const given = Object.entries({ tools, context, forwardedProps, runId, resume }).filter(([, value]) => value !== undefined);
    await withTimeout(agent.runAgent(Object.fromEntries(given), endRecorder(result)), RUN_TIMEOUT_MS, "the run");
    result.accepted = true;
    result.ok = result.terminal !== null;
    if (!result.ok) result.error = "the stream ended without RUN_FINISHED or RUN_ERROR";
  } catch (error) {
    result.error = message(error);
    result.hung = error.timedOut === true;
  }
  await turn();
  result.messages = structuredClone(agent.messages);
  result.state = structuredClone(agent.state);
  result.newMessageIds = agent.messages.map((m) => m.id).filter((id) => !before.has(id));
  result.warnings = log.drain();
  return result;
}

async function replayAll(lib, runs, chain, log) {
  if (!Array.isArray(runs)) throw new Error("the runs are not a JSON array");
  let agent;
  const results = [];
  for (const item of runs) {
    const run = Array.isArray(item) ? { events: item } : item;
    if (agent && chain) proceed(agent, run.input ?? {});
    else agent = makeAgent(lib, run.input ?? {});
    results.push(await replay(agent, run, log));
  }
  return results;
}

async function serve(lib, client, log, write) {
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    if (!line.trim()) continue;
    let id, answer;
    try {
      const request = JSON.parse(line);
      id = request.id;
      answer = { id, client, runs: await replayAll(lib, request.runs, request.chain, log) };
    } catch (error) { answer = { id, error: message(error) }; }
    await write(answer);
    // A client that never settled may still act: let a new process take the next request.
    if (answer.runs?.some((run) => run.hung)) process.exit(3);
  }
}

const opt = options(process.argv.slice(2));
const stdout = process.stdout.write.bind(process.stdout);
const write = (answer) => new Promise((resolve) => stdout(JSON.stringify(answer) + "\n", resolve));
try {
  const lib = await loadClient(opt.client);
  const log = captureConsole();
  if (opt.serve) await serve(lib, opt.client, log, write);
  else await write({ client: opt.client, runs: await replayAll(lib, JSON.parse(await readInput(opt.file)), opt.chain, log) });
  process.exit(0);
} catch (error) {
  process.stderr.write(`verify.mjs: ${message(error)}\n`);
  process.exit(2);
}
