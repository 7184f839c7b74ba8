import assert from "node:assert/strict";
import { test } from "node:test";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { PAGE_SIZE, type ThreadInfo } from "../src/agent/client.ts";
import { extended, refreshed } from "../src/panels/threadList.ts";
import { fileOf } from "../src/chat/parts.tsx";
import { Markdown } from "../src/ui/Markdown.tsx";
import { Media } from "../src/ui/Media.tsx";
import { ValueView } from "../src/ui/ValueView.tsx";
import { decoded } from "../src/useAddress.ts";
import { Progress } from "../src/widgets/Progress.tsx";

/** Threads last used at these seconds, newest first. */
const threads = (...seconds: number[]): ThreadInfo[] =>
  seconds.map((second) => {
    const updatedAt = `2026-01-01T00:${String(second).padStart(4, "0")}`;
    return { threadId: String(second), title: "", status: "idle", updatedAt };
  });
const ids = (list: readonly ThreadInfo[]) => list.map(({ threadId }) => threadId);
const down = (from: number, to: number): number[] => Array.from({ length: from - to }, (_, n) => from - n);

test("older threads stay when the newest are read again", () => {
  const newest = threads(...down(100 + PAGE_SIZE, 100));
  const known = threads(130, 101, 100, 99);
  assert.deepEqual(ids(refreshed(known, newest)), [...ids(newest), "100", "99"]);
  const gap = threads(130, 100, 99);
  assert.deepEqual(refreshed(gap, newest), newest, "between 101 and 100 may be others");
  assert.deepEqual(refreshed(known, newest.slice(1)), newest.slice(1), "that was the last page");
  assert.deepEqual(refreshed(threads(3), []), []);
});

test("no thread of the same moment is lost or doubled at the border of a page", () => {
  const moment = (...ids: string[]) => threads(7).flatMap((one) => ids.map((threadId) => ({ ...one, threadId })));
  assert.deepEqual(ids(extended(moment("c", "b"), moment("a"))), ["c", "b", "a"]);
  assert.deepEqual(ids(extended(moment("c", "b"), moment("b", "a"))), ["c", "b", "a"], "the clock was set back");
  const newest = [...threads(...down(99 + PAGE_SIZE, 100)), ...moment("c")];
  assert.deepEqual(ids(refreshed([...newest, ...moment("b")], newest)).slice(-2), ["c", "b"]);
});

test("an answer has the direction of its language, and headings without gaps", () => {
  const text = "###### Six\n\n# One\n\nمرحبا\n\n- ✓\n\n#### Four\n\n> ###### In a quote\n\n## Two";
  const shown = renderToStaticMarkup(createElement(Markdown, { text }));
  const levels = [...shown.matchAll(/aria-level="(\d)"/g)].map(([, level]) => Number(level));
  assert.deepEqual(levels, [3, 3, 4, 5, 4]);
  const directed = [...shown.matchAll(/<(\w+)[^>]* dir="auto"/g)].map(([, name]) => name);
  assert.deepEqual(directed, ["h6", "h1", "p", "ul", "h4", "blockquote", "h2"]);
});

test("a value of any size takes a place that can be read", () => {
  const shown = (value: unknown) => renderToStaticMarkup(createElement(ValueView, { value }));
  const long = shown(Array.from({ length: 5000 }, (_, n) => n));
  assert.equal(long.match(/<li>/g)?.length, 50);
  assert.match(long, /Show all 5000/);
  let deep: unknown = "end";
  for (let n = 0; n < 100; n++) deep = { k: deep };
  assert.equal(shown(deep).match(/<dl/g)?.length, 6);
  assert.match(shown(deep), /end/);
});

test("a file may be empty", () => {
  const part = (value: string) => ({ type: "document", source: { type: "data", value, mimeType: "text/plain" } });
  assert.equal(fileOf(part(""))?.data, "");
  assert.equal(fileOf({ type: "document", source: { type: "url", value: "" } }), undefined);
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
