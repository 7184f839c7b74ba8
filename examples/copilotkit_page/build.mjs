import { copyFile } from "node:fs/promises";
import { build } from "esbuild";

// The chat draws mermaid diagrams and colours code. This agent writes neither, and they are most of the bundle.
const without = {
  name: "without",
  setup(build) {
    build.onResolve({ filter: /^(mermaid|shiki)$/ }, ({ path }) => ({ path, namespace: "without" }));
    build.onLoad({ filter: /.*/, namespace: "without" }, () => ({
      contents: "module.exports = new Proxy({}, { get: () => undefined });",
      loader: "js",
    }));
  },
};

await build({
  entryPoints: { page: "page.jsx" },
  absWorkingDir: import.meta.dirname,
  outdir: "dist",
  bundle: true,
  format: "esm",
  jsx: "automatic",
  minify: true,
  define: { "process.env.NODE_ENV": '"production"', "process.env": "{}" },
  loader: { ".woff": "empty", ".woff2": "empty", ".ttf": "empty" },
  plugins: [without],
  logLevel: "warning",
});
await copyFile("index.html", "dist/index.html");
