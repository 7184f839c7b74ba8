import { objectOf } from "../agent/json.ts";
import { Media } from "../ui/Media.tsx";
import type { Shown } from "./registry.tsx";

/** A file that the agent emitted: `{mimeType, data}` with base64. */
export function FileView({ name, value }: Shown) {
  const { mimeType, data } = objectOf(value);
  return <Media name={name} mimeType={String(mimeType)} data={String(data)} />;
}
