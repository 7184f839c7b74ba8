import type { ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { keepFor } from "./agent/kept.ts";
import { App } from "./App.tsx";
import { loadConfig, personOf } from "./config.ts";
import { Guard } from "./ui/Guard.tsx";
import "./ui/styles/index.css";

const element = document.getElementById("root");
if (element) {
  const root = createRoot(element);
  loadConfig().then(
    (config) => {
      keepFor(personOf(config));
      root.render(guarded(<App config={config} />));
    },
    (error: Error) => root.render(<Failed title="This page cannot begin" text={error.message} />),
  );
}

const guarded = (page: ReactNode) => (
  <Guard fallback={<Failed title="This page has a fault" text="The conversation is on the server, and goes on there." />}>
    {page}
  </Guard>
);

const Failed = ({ title, text }: { title: string; text: string }) => (
  <main className="cannot">
    <h1>{title}</h1>
    <p role="alert">{text}</p>
    <button type="button" className="button primary" onClick={() => location.reload()}>
      Try again
    </button>
  </main>
);
