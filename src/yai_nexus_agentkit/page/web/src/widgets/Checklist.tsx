import { Check, Circle } from "lucide-react";
import { isObject, objectOf, textOf } from "../agent/json.ts";
import type { Shown } from "./registry.tsx";
import { Unknown } from "./Unknown.tsx";

/** `{title?, steps: [{text, done}]}` */
export function Checklist({ name, value }: Shown) {
  if (!isObject(value) || !Array.isArray(value.steps)) return <Unknown name={name} value={value} />;
  const title = textOf(value.title);
  const steps = value.steps.map((step) => (typeof step === "string" ? { text: step } : objectOf(step)));
  return (
    <section role="group" className="card checklist" aria-label={title ?? "Checklist"}>
      {title && <h3>{title}</h3>}
      <ul>
        {steps.map((step, n) => (
          <li key={n} className={step.done ? "done" : undefined}>
            {step.done ? <Check size={16} aria-hidden /> : <Circle size={16} aria-hidden />}
            <span>
              {String(step.text ?? step.title ?? step.name ?? "")}
              <span className="sr">{step.done ? ", done" : ", open"}</span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
