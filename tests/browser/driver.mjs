// One headless Chromium for the Python tests. A line of JSON per command on stdin, a line of JSON per answer on stdout.
//   node driver.mjs /usr/bin/chromium
// Commands: {"do": name, ...}, with the names and arguments of `commands` below.
// Answers: {"value": ...}, or {"error": why, "shown": the page's text}.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import axe from "axe-core";
import { chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // A name of this machine for which browsers have the rules of other machines: no clipboard, no crypto.randomUUID.
  "--host-resolver-rules=MAP page.example 127.0.0.1",
];
const profile = mkdtempSync(join(tmpdir(), "browser-tests-"));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: process.argv[2],
  headless: true,
  args: FLAGS,
  viewport: { width: 1360, height: 860 },
});
context.setDefaultTimeout(15_000);

let tabs = [];
let page;
let complaints = [];

async function another(url) {
  page = await context.newPage();
  tabs.push(page);
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  // A page under test speaks with its own server only.
  await page.route(
    (to) => to.hostname !== new URL(url).hostname,
    (route) => {
      complaints.push(`asks for ${route.request().url()}`);
      return route.abort();
    },
  );
  await page.goto(url);
}

async function leave() {
  await Promise.all(tabs.map((tab) => tab.close()));
  tabs = [];
  complaints = [];
}

const commands = {
  async open({ url }) {
    await leave();
    await another(url);
  },
  leave,
  another: ({ url }) => another(url),
  front({ tab }) {
    page = tabs[tab];
    return page.bringToFront();
  },
  size: ({ width, height }) => page.setViewportSize({ width, height }),
  click: ({ on }) => page.locator(on).first().click(),
  hover: ({ on }) => page.locator(on).first().hover(),
  fill: ({ on, text }) => page.locator(on).first().fill(text),
  press: ({ on, key }) => page.locator(on).first().press(key),
  key: ({ key }) => page.keyboard.press(key),
  type: ({ text }) => page.keyboard.type(text),
  choose: ({ on, option }) => page.locator(on).first().selectOption(option),
  upload: ({ on, file }) => page.locator(on).first().setInputFiles(file),
  scheme: ({ dark }) => page.emulateMedia({ colorScheme: dark ? "dark" : "light" }),
  texts: ({ on }) => page.locator(on).allInnerTexts(),
  text: ({ on }) => page.locator(on).first().innerText(),
  value: ({ on }) => page.locator(on).first().inputValue(),
  attribute: ({ on, name }) => page.locator(on).first().getAttribute(name),
  wait: ({ on, gone }) => page.locator(on).first().waitFor({ state: gone ? "hidden" : "visible" }),
  evaluate: ({ script }) => page.evaluate(script),
  async violations() {
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate("axe.run(document, { resultTypes: ['violations'] })");
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 150)).join(" | ")}`);
  },
  // After the page has scrolled: smoothly, as chats do. Nothing is shown as if the mouse were there.
  async shot({ file }) {
    await page.mouse.move(0, 0);
    await page.waitForTimeout(500);
    await page.screenshot({ path: file });
  },
  // A page object of a PDF: "/Type /Page", not "/Pages".
  printed: async () => (await page.pdf()).toString("latin1").match(/\/Type\s*\/Page\b/g).length,
  complaints: () => complaints,
};

async function answer(line) {
  try {
    const { do: name, ...given } = JSON.parse(line);
    return { value: (await commands[name](given)) ?? null };
  } catch (error) {
    const shown = await page?.evaluate("document.body.innerText").catch(() => "");
    return { error: String(error.message ?? error), shown: shown ?? "" };
  }
}

console.log(JSON.stringify({ value: context.browser()?.version() ?? "ready" }));
for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await answer(line)));
await context.close();
rmSync(profile, { recursive: true, force: true });
