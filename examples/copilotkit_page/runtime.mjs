// CopilotKit's runtime between the page and the Python server, and the page itself.
//   AGENT_URL=http://127.0.0.1:8000/ PORT=3000 node runtime.mjs
process.env.COPILOTKIT_TELEMETRY_DISABLED ??= "true";

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

const { HttpAgent } = await import("@ag-ui/client");
const { CopilotRuntime } = await import("@copilotkit/runtime/v2");
const { createCopilotNodeListener } = await import("@copilotkit/runtime/v2/node");

const url = process.env.AGENT_URL ?? "http://127.0.0.1:8000/";
const runtime = createCopilotNodeListener({
  runtime: new CopilotRuntime({ agents: { default: new HttpAgent({ url }) } }),
  basePath: "/api/copilotkit",
});

const files = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/page.js": ["dist/page.js", "text/javascript; charset=utf-8"],
  "/page.css": ["dist/page.css", "text/css; charset=utf-8"],
};

const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url, "http://page");
  if (pathname.startsWith("/api/copilotkit")) return runtime(request, response);
  const [file, type] = files[pathname] ?? [];
  if (!file) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": type }).end(await readFile(new URL(file, import.meta.url)));
});
server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}/ → ${url}`);
});
