import { createRoot } from "react-dom/client";
import { App } from "./App.tsx";
import { loadConfig } from "./config.ts";
import "./ui/styles/index.css";

const element = document.getElementById("root");
if (element) {
  const root = createRoot(element);
  loadConfig().then(
    (config) => root.render(<App config={config} />),
    (error: Error) => root.render(<Failed text={error.message} />),
  );
}

const Failed = ({ text }: { text: string }) => (
  <main className="cannot">
    <h1>This page cannot begin</h1>
    <p role="alert">{text}</p>
    <button type="button" className="button primary" onClick={() => location.reload()}>
      Try again
    </button>
  </main>
);
