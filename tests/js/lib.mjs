// Shared by verify.mjs and http_client.mjs: client generations, SSE text, result capture.
export const CLIENTS = {
  "1.0.0": "@ag-ui/client",
  "0.0.59": "ag-ui-client-0-0-59",
  "0.0.47": "ag-ui-client-0-0-47",
  "0.0.40": "ag-ui-client-0-0-40",
};

export async function loadClient(version) {
  const name = CLIENTS[version];
  if (!name) throw new Error(`unknown client '${version}'; known: ${Object.keys(CLIENTS).join(", ")}`);
  return await import(name);
}

/** The clients report through console; collect instead of printing, so stdout stays one JSON document. */
export function captureConsole() {
  const seen = [];
  const take = (...a) => {
    const s = a.map((x) => (x instanceof Error ? x.message : typeof x === "string" ? x : JSON.stringify(x))).join(" ");
    seen.push(s.replace(/\s+/g, " ").slice(0, 300));
  };
  console.warn = take;
  console.info = take;
  console.debug = take;
  // The client logs every failed run here as well as rejecting; the rejection is what we report.
  console.error = (...a) => { if (!String(a[0]).startsWith("Agent execution failed")) take(...a); };
  process.on("unhandledRejection", (e) => take("unhandled rejection: " + String(e?.message ?? e)));
  process.on("uncaughtException", (e) => take("uncaught exception: " + String(e?.message ?? e)));
  return { drain: () => [...new Set(seen.splice(0))] };
}

export const message = (e) => String(e?.message ?? e).replace(/\s+/g, " ").slice(0, 500);

/** Subscriber that notes how the client understood the end of a run. */
export function endRecorder(into) {
  return {
    onRunErrorEvent: ({ event }) => {
      into.terminal = "RUN_ERROR";
      into.runError = { message: event.message, ...(event.code !== undefined && { code: event.code }) };
    },
    onRunFinishedEvent: (p) => {
      into.terminal = "RUN_FINISHED";
      into.outcome = p.outcome ?? "success";
      if (p.result !== undefined) into.result = p.result;
      if (p.interrupts) into.interrupts = p.interrupts;
      if (p.pendingToolCallIds) into.pendingToolCallIds = p.pendingToolCallIds;
    },
  };
}

/** Parse SSE text the way the binding defines it, and note every deviation from its producer rules. */
export function parseSse(text, { complete = true } = {}) {
  const events = [], problems = [], stats = { frames: 0, comments: 0 };
  if (text.includes("\r")) problems.push("carriage return in the stream: frames must use LF only");
  if (text.startsWith("\ufeff")) problems.push("byte order mark at the start of the stream");
  const blocks = text.replace(/\r\n?/g, "\n").split("\n\n");
  const rest = blocks.pop();
  if (complete && rest.trim() !== "") { problems.push("the last frame is not ended by a blank line"); blocks.push(rest); }
  for (const block of blocks) {
    const data = [];
    for (const line of block.split("\n")) {
      if (line === "") continue;
      if (line.startsWith(":")) { stats.comments++; continue; }
      if (line.startsWith("data:")) {
        if (!line.startsWith("data: ")) problems.push("no space after 'data:' (older clients drop such lines)");
        data.push(line.slice(5).replace(/^ /, ""));
      } else if (!/^(event|id|retry):/.test(line)) problems.push(`line without a field name: ${line.slice(0, 60)}`);
    }
    if (!data.length) continue;
    stats.frames++;
    try {
      const v = JSON.parse(data.join("\n"));
      if (typeof v !== "object" || v === null || Array.isArray(v)) problems.push(`frame is not a JSON object: ${data[0].slice(0, 60)}`);
      else events.push(v);
    } catch (e) { problems.push(`frame is not one JSON document: ${message(e)} in ${data[0].slice(0, 60)}`); }
  }
  return { events, problems: [...new Set(problems)], stats };
}

/** Tool calls a run started and left without a result, in call order. */
export function pendingCalls(events) {
  const started = [], done = new Set(), names = {};
  let open;
  for (const e of events) {
    if (e.type === "TOOL_CALL_CHUNK" && e.toolCallId !== undefined) open = e.toolCallId;
    if (e.type === "TOOL_CALL_START" || (e.type === "TOOL_CALL_CHUNK" && e.toolCallName !== undefined)) {
      const id = e.toolCallId ?? open;
      if (!started.includes(id)) started.push(id);
      names[id] = e.toolCallName;
    }
    if (e.type === "TOOL_CALL_RESULT") done.add(e.toolCallId);
    if (e.type === "RUN_STARTED") { started.length = 0; done.clear(); }
  }
  return started.filter((id) => !done.has(id)).map((id) => ({ id, name: names[id] }));
}

export async function readInput(arg) {
  if (arg && arg !== "-") return (await import("node:fs")).readFileSync(arg, "utf8");
  const chunks = [];
  for await (const c of process.stdin) chunks.push(c);
  return Buffer.concat(chunks).toString();
}

/** Rejects with an error whose `timedOut` is true when the promise does not settle in time. */
export function withTimeout(promise, ms, what) {
  let timer;
  const late = new Promise((_, reject) => {
    const error = Object.assign(new Error(`${what} did not settle in ${ms} ms`), { timedOut: true });
    timer = setTimeout(() => reject(error), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
