import { lazy, type ComponentType } from "react";

/** What draws a CUSTOM event (by its name) or an activity (by its type). An application adds its own here. */
export type Renderer = ComponentType<{ name: string; value: any }>;
const Chart = lazy(() => import("./Chart"));

const Progress: Renderer = ({ value: { name, fraction, message } }) => (
  <div className={fraction >= 1 ? "progress done" : "progress"}>
    <div className="row">
      <span>{name}</span>
      <span className="muted">{message}</span>
      <span className="muted number">{Math.round(fraction * 100)} %</span>
    </div>
    <progress max={1} value={fraction} aria-label={name} />
  </div>
);

const Checklist: Renderer = ({ value: { title, steps = [] } }) => (
  <section className="card checklist" aria-label={title ?? "Checklist"}>
    {title && <h3>{title}</h3>}
    <ul>
      {steps.map((step: any, n: number) => (
        <li key={n} className={step.done ? "done" : undefined}>
          <span aria-hidden="true">{step.done ? "✓" : "○"}</span>
          {step.text}
          <span className="sr">{step.done ? ", done" : ", open"}</span>
        </li>
      ))}
    </ul>
  </section>
);

const Download: Renderer = ({ name, value: { mimeType, data } }) => (
  <a className="button" href={`data:${mimeType};base64,${data}`} download={`${name}.${mimeType.split("/")[1]}`}>
    Download {name}{" "}
    <span className="muted">
      {mimeType}, {Math.ceil((data.length * 3) / 4096)} kB
    </span>
  </a>
);

export const Unknown: Renderer = ({ name, value }) => (
  <details className="card unknown">
    <summary>{name}</summary>
    <pre tabIndex={0}>{JSON.stringify(value, null, 2)}</pre>
  </details>
);

export const activities: Record<string, Renderer> = { progress: Progress, checklist: Checklist };
export const customs: Record<string, Renderer> = { display_chart: Chart };

export const rendererOf = (kind: "activity" | "custom", name: string, value: any): Renderer =>
  (kind === "activity" ? activities : customs)[name] ?? (value?.mimeType && value?.data ? Download : Unknown);
