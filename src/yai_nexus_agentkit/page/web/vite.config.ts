import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// `npm run dev` shows the sources as they are saved. Everything that is not a source goes to this server.
const server = process.env.AGENT_SERVER ?? "http://127.0.0.1:8000";
const source = /^\/($|\?|index\.html|src\/|node_modules\/|@)/;

const out = process.env.PAGE_OUT ?? "../static";

/** A build empties its folder, which need not be in this one. */
const onlyAPage = {
  name: "only-a-page",
  apply: "build" as const,
  buildStart() {
    if (!existsSync(out) || readdirSync(out).length === 0 || existsSync(`${out}/index.html`)) return;
    throw new Error(`${out} has files that are no page. Name another folder: PAGE_OUT=dist npm run build`);
  },
};

/** In a page a document knows the names of characters (&copy;). A worker has none, and takes the list. */
const names = "decode-named-character-reference";
const withoutDocument = {
  name: "without-document",
  enforce: "pre" as const,
  resolveId: (id: string) => (id === names ? fileURLToPath(import.meta.resolve(names)) : undefined),
};

export default defineConfig({
  base: "./", // The page works under any path that a server gives it.
  plugins: [react(), onlyAPage],
  worker: { format: "es", plugins: () => [withoutDocument] },
  build: {
    outDir: out,
    emptyOutDir: true,
    license: { fileName: "licenses.txt" }, // The licences of the packages ask for it.
    target: "es2022",
    assetsInlineLimit: 0, // The content security policy allows no scripts and styles from data.
    chunkSizeWarningLimit: 900,
  },
  server: {
    proxy: {
      "/": {
        target: server,
        bypass: (request) => (request.method === "GET" && source.test(request.url ?? "") ? request.url : undefined),
      },
    },
  },
});
