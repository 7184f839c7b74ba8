import { defineConfig } from "vite";

export default defineConfig({
  build: { target: "es2022" }, // `await` at the top of a module
  esbuild: { jsx: "automatic" },
  server: { proxy: { "/api": "http://127.0.0.1:8000" } }, // `npm run dev` beside the Python server
});
