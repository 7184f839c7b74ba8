import { listOf, objectOf } from "../agent/json.ts";
import type { Shown } from "./registry.tsx";

/** What a tool has put out so far: `{toolCallId, output: [...]}`. */
export function ToolOutput({ value }: Shown) {
  const pieces = listOf(objectOf(value).output);
  const texts = pieces.map((piece) => (typeof piece === "string" ? piece : JSON.stringify(piece)));
  return (
    <pre tabIndex={0} aria-label="Output so far" className="output">
      {texts.join("\n")}
    </pre>
  );
}
