import { type ComponentType, lazy } from "react";
import { isObject, textOf } from "../agent/json.ts";
import { Checklist } from "./Checklist.tsx";
import { FileView } from "./FileView.tsx";
import { Progress } from "./Progress.tsx";
import { ToolOutput } from "./ToolOutput.tsx";
import { Unknown } from "./Unknown.tsx";

/** What a renderer gets. */
export type Shown = {
  /** The name of the event, or the type of the activity. */
  name: string;
  /** Never trust its shape. */
  value: unknown;
  /** Whether the agent still works on the answer: what is not finished then stays so. */
  running?: boolean;
};
export type Renderer = ComponentType<Shown>;

function Nothing() {
  return null;
}

// Loaded when the first chart is shown.
const Chart = lazy(() => import("./Chart.tsx"));

/** Activities by their type: `emitter.activity(id, "plan", {...})`. Patches change the value; it stays after a reload. */
export const activities: Record<string, Renderer> = {
  chart: Chart,
  checklist: Checklist,
  plan: Checklist,
  progress: Progress,
  tool_output: ToolOutput,
};

/** CUSTOM events by their name: `emitter.emit("display_chart", {...})`. */
export const events: Record<string, Renderer> = {
  chart: Chart,
  display_chart: Chart,
  // Of older clients: the page shows questions and state by other events.
  on_interrupt: Nothing,
  PredictState: Nothing,
};

/** The renderer of an activity or event. Those without one are shown as files, or as they are: never not at all. */
export function rendererOf(known: Record<string, Renderer>, name: string, value: unknown): Renderer {
  if (Object.hasOwn(known, name)) return known[name] ?? Unknown;
  return isObject(value) && textOf(value.mimeType) && textOf(value.data) ? FileView : Unknown;
}
