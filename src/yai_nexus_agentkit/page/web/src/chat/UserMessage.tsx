import { Pencil } from "lucide-react";
import { type FormEvent, type KeyboardEvent, useState } from "react";
import { listOf, objectOf } from "../agent/json.ts";
import type { Content } from "../agent/view.ts";
import type { UserBlock } from "../agent/timeline.ts";
import { CopyButton } from "../ui/CopyButton.tsx";
import { leave } from "../ui/focus.ts";
import { IconButton } from "../ui/IconButton.tsx";
import { useKept } from "../ui/useKept.ts";
import { Media } from "../ui/Media.tsx";
import { fileOf } from "./parts.tsx";

type Given = {
  block: UserBlock;
  /** What is written in its place stays under this name. */
  kept: string;
  busy: boolean;
  send: (content: Content, edited: string) => void;
};

/** What the user said. An edited message starts the thread again from there. */
export function UserMessage({ block, kept, busy, send }: Given) {
  const { content } = block.message;
  const [draft, setDraft] = useKept<string | null>(kept, () => null);
  // The keyboard goes back to where the edit began.
  const [left, setLeft] = useState(false);
  const text = textOfContent(content);
  const parts = typeof content === "string" ? [] : content.filter(({ type }) => type !== "text");
  const files = listOf(parts).flatMap((part) => fileOf(objectOf(part)) ?? []);
  if (draft === null) {
    return (
      <div className="user">
        {files.length > 0 && (
          <div className="media">
            {files.map((file, n) => (
              <Media key={n} {...file} />
            ))}
          </div>
        )}
        {text && (
          <div className="bubble" dir="auto">
            {text}
          </div>
        )}
        <div className="tools">
          <CopyButton text={() => text} label="Copy message" />
          <IconButton
            icon={Pencil}
            label="Edit message"
            disabled={busy}
            autoFocus={left}
            onClick={() => setDraft(text)}
          />
        </div>
      </div>
    );
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (busy || !(draft.trim() || parts.length > 0)) return;
    setDraft(null);
    setLeft(false);
    send(parts.length > 0 ? [{ type: "text", text: draft.trim() }, ...parts] : draft.trim(), block.id);
  };
  const cancel = () => {
    setDraft(null);
    setLeft(true);
  };
  const key = (event: KeyboardEvent) => {
    if (event.key === "Escape") cancel();
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      submit(event);
      if (draft.trim()) leave(event);
    }
    event.stopPropagation();
  };
  return (
    <form className="editing" onSubmit={submit}>
      <textarea
        aria-label="Edit message"
        dir="auto"
        autoFocus
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={key}
      />
      <div className="actions">
        <button className="button primary" disabled={busy}>
          Send
        </button>
        <button type="button" className="button ghost" onClick={cancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

export function textOfContent(content: Content): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
