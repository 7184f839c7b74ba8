import assert from "node:assert/strict";
import { test } from "node:test";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { PAGE_SIZE, type ThreadInfo } from "../src/agent/client.ts";
import { refreshed } from "../src/panels/threadList.ts";
import { Media } from "../src/ui/Media.tsx";
import { decoded } from "../src/useAddress.ts";
import { Progress } from "../src/widgets/Progress.tsx";

/** Threads last used at these seconds, newest first. */
const threads = (...seconds: number[]): ThreadInfo[] =>
  seconds.map((second) => {
    const updatedAt = `2026-01-01T00:${String(second).padStart(4, "0")}`;
    return { threadId: String(second), title: "", status: "idle", updatedAt };
  });
const down = (from: number, to: number): number[] => Array.from({ length: from - to }, (_, n) => from - n);

test("older threads stay when the newest are read again", () => {
  const newest = threads(...down(100 + PAGE_SIZE, 100));
  const ids = (list: readonly ThreadInfo[]) => list.map(({ threadId }) => Number(threadId));
  assert.deepEqual(ids(refreshed(threads(130, 101, 100, 99), newest)), [...down(100 + PAGE_SIZE, 100), 100, 99]);
  assert.deepEqual(ids(refreshed(threads(130, 99), newest.slice(1))), down(99 + PAGE_SIZE, 100), "that was the last page");
  assert.deepEqual(refreshed(threads(3), []), []);
});

test("a model may write any address", () => {
  Object.assign(globalThis, { location: { href: "https://here.example/chat/", origin: "https://here.example" } });
  const media = (url: string) => renderToStaticMarkup(createElement(Media, { name: "it", mimeType: "image/png", url }));
  assert.match(media("own.png"), /<img/);
  for (const url of ["http://[", "https://there.example/x.png"]) assert.match(media(url), /<a .*target="_blank"/);
  assert.equal(decoded("%C3%A4"), "ä");
  assert.equal(decoded("%E0%A4%A"), undefined);
});

test("a bar moves while the agent works, and ends with it", () => {
  const bar = (fraction: number, running: boolean) =>
    renderToStaticMarkup(createElement(Progress, { name: "progress", value: { name: "read", fraction }, running }));
  assert.match(bar(0.4, true), /<progress/);
  assert.match(bar(0.4, false), /not finished/);
  assert.match(bar(1, false), /done/);
});
