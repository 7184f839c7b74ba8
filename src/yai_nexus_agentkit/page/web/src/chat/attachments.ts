import { objectOf, textOf } from "../agent/json.ts";
import type { Content } from "../agent/view.ts";

export type Attachment = {
  type: "image" | "audio" | "video" | "document";
  name: string;
  mimeType: string;
  /** Base64. */
  data: string;
};

/** Throws what the browser says if one cannot be read: a folder, for example. */
export const readFiles = (files: File[]): Promise<Attachment[]> => Promise.all(files.map(read));

function read(file: File): Promise<Attachment> {
  const mimeType = file.type || "application/octet-stream";
  const kind = /^(image|audio|video)\//.exec(mimeType)?.[1];
  const type = kind === "image" || kind === "audio" || kind === "video" ? kind : "document";
  return new Promise((done, fail) => {
    const reader = new FileReader();
    reader.onload = () => done({ type, name: file.name, mimeType, data: String(reader.result).split(",")[1] ?? "" });
    reader.onerror = () => fail(reader.error);
    reader.readAsDataURL(file);
  });
}

/** A message of text and files. */
export function contentOf(text: string, files: Attachment[]): Content {
  if (files.length === 0) return text;
  const parts = files.map(({ type, name, mimeType, data }) => {
    return { type, source: { type: "data" as const, value: data, mimeType }, metadata: { filename: name } };
  });
  return [...(text ? [{ type: "text" as const, text }] : []), ...parts];
}

/** The files of a message that `contentOf` made. Files behind links are left out. */
export function attachmentsOf(content: Content): Attachment[] {
  if (typeof content === "string") return [];
  return content.flatMap((part) => {
    if (part.type === "text" || !("source" in part) || part.source.type !== "data") return [];
    const name = textOf(objectOf(part.metadata).filename) ?? part.type;
    return [{ type: part.type, name, mimeType: part.source.mimeType, data: part.source.value }];
  });
}
