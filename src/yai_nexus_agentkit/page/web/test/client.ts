import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { PageAgent } from "../src/agent/client.ts";

test("a connection that breaks is reported once, and nothing is left that nobody catches", async () => {
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('data: {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}\n\n');
    setTimeout(() => response.destroy(), 20);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  server.unref(); // A failure does not keep the process.
  const uncaught: unknown[] = [];
  process.on("unhandledRejection", (reason) => uncaught.push(reason));
  const agent = new PageAgent({ name: "agent", url, run: url }, "t");
  await assert.rejects(agent.runAgent());
  await assert.rejects(new PageAgent({ name: "agent", url }, "t").connectAgent());
  await new Promise((done) => setTimeout(done, 20));
  assert.deepEqual(uncaught, []);
});
