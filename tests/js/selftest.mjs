// npm test: the HTTP driver against the stub server. The fixtures are run by tests/unit/test_conformance_support.py.
import { spawn } from "node:child_process";
import assert from "node:assert/strict";
import { startStub } from "./stub_server.mjs";

const here = new URL(".", import.meta.url).pathname;
const node = (args, stdin) => new Promise((res) => {
  const p = spawn(process.execPath, args, { cwd: here, stdio: ["pipe", "pipe", "inherit"] });
  let out = ""; p.stdout.on("data", (d) => (out += d));
  p.on("close", (code) => res({ code, json: out ? JSON.parse(out) : null }));
  p.stdin.end(stdin);
});

const { server, seen, url } = await startStub();
const tools = [{ name: "confirm", description: "ask the user", parameters: { type: "object", properties: { q: { type: "string" } } } }];
const drive = (turns, extra = {}, args = []) => node(["http_client.mjs", ...args, "-"], JSON.stringify({ url, tools, toolResults: { confirm: "yes" }, turns, ...extra }));

const good = await drive([
  { user: "hello" }, { user: "think" }, { user: "backend" }, { user: "ask" }, { user: "approve" }, { resume: { payload: { approved: true } } },
  { user: "state" }, { user: "slow", abort: { afterType: "TEXT_MESSAGE_CONTENT", count: 5 } }, { user: "hello" },
]);
assert.deepEqual(good.json.problems, []);
assert.equal(good.code, 0);
const t = good.json.threads[0].turns;
assert.deepEqual(t.map((x) => x.runs.length), [1, 1, 1, 2, 1, 1, 1, 1, 1]);
assert.equal(t[1].messages.find((m) => m.role === "reasoning").content, "Hmm.");
assert.equal(t[3].runs[1].newMessages[0].content, "The answer was yes.");
assert.equal(t[4].runs[0].outcome, "interrupt");
assert.equal(t[5].runs[0].input.resume.length, 1);
assert.deepEqual(t[5].pendingInterrupts, []);
assert.deepEqual(t[6].state, { n: 2, list: ["x"] });
assert.equal(t[7].runs[0].aborted, true);
assert.equal(t[7].runs[0].runError.code, "abort");
assert.equal(seen.aborts, 1);
console.log("ok  scripted turns, client tool, interrupt and resume, abort");

const old = await drive([{ user: "hello" }, { user: "ask" }, { user: "approve" }], {}, ["--client", "0.0.59"]);
assert.deepEqual(old.json.problems, []);
assert.equal(old.json.threads[0].turns[1].runs.length, 2);
console.log("ok  the same with client 0.0.59");

const par = await drive([{ user: "hello" }, { user: "backend" }], { parallel: 3 });
assert.deepEqual([par.json.threads.length, par.json.problems], [3, []]);
console.log("ok  parallel threads");

for (const [user, expected] of Object.entries({ crlf: /carriage return/, truncate: /without RUN_FINISHED/, open: /text messages are still active/, done: /not one JSON document/, status: /HTTP status 503/, fail: /RUN_ERROR STUB/ })) {
  const { code, json } = await drive([{ user }]);
  assert.equal(code, 1, user);
  assert.match(json.problems.join("\n"), expected);
}
const skipped = await drive([{ user: "approve" }, { user: "hello" }]);
assert.match(skipped.json.problems.join("\n"), /pending interrupt/);
console.log("ok  faults are reported");
server.close();
