import { Check, Minus } from "lucide-react";
import { isObject } from "../agent/json.ts";
import type { Shown } from "./registry.tsx";
import { Unknown } from "./Unknown.tsx";

/** `{name, fraction, message?}`, the fraction between 0 and 1. */
export function Progress({ name: type, value, running }: Shown) {
  if (!isObject(value) || typeof value.fraction !== "number") return <Unknown name={type} value={value} />;
  const name = String(value.name ?? type);
  const done = value.fraction >= 1;
  if (done) {
    return (
      <p className="progress done row">
        <Check size={14} aria-hidden />
        <span>{name}</span>
        <span className="muted cut">{String(value.message ?? "done")}</span>
      </p>
    );
  }
  if (!running) {
    return (
      <p className="progress ended row">
        <Minus size={14} aria-hidden />
        <span>{name}</span>
        <span className="muted">not finished</span>
      </p>
    );
  }
  return (
    <div className="progress">
      <div className="row">
        <span>{name}</span>
        <span className="muted cut">{String(value.message ?? "")}</span>
        <span className="muted number">{Math.round(value.fraction * 100)} %</span>
      </div>
      <progress max={1} value={value.fraction} aria-label={name} />
    </div>
  );
}
