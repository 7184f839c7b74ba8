import { createRoot } from "react-dom/client";
import { App } from "./App";
import { loadConfig } from "./config";
import "./styles.css";

const root = createRoot(document.getElementById("root")!);
loadConfig().then(
  (config) => root.render(<App config={config} />),
  (error: Error) => root.render(<p role="alert">{error.message}</p>),
);
