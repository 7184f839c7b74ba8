import { type JsonObject, objectOf, textOf } from "../agent/json.ts";
import { Markdown } from "../ui/Markdown.tsx";
import { Media, type MediaFile } from "../ui/Media.tsx";

/** A content part of a message: text, or a picture, sound, film or document. */
export function PartView({ part }: { part: JsonObject }) {
  if (part.type === "text") return <Markdown text={textOf(part.text) ?? ""} />;
  const file = fileOf(part);
  return file ? <Media {...file} /> : null;
}

/** The file of a part; undefined for text, and for files that only their provider can open. */
export function fileOf(part: JsonObject): MediaFile | undefined {
  const source = objectOf(part.source);
  const value = typeof source.value === "string" ? source.value : undefined;
  // Data may be empty: a file without content is one, too.
  if (value === undefined || source.type === "file" || (value === "" && source.type !== "data")) return undefined;
  const kind = textOf(part.type) ?? "file";
  const mimeType = textOf(source.mimeType) ?? (kind === "document" ? "application/octet-stream" : `${kind}/*`);
  const name = textOf(objectOf(part.metadata).filename) ?? kind;
  return source.type === "data" ? { name, mimeType, data: value } : { name, mimeType, url: value };
}
