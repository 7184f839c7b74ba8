import { ArrowUp, Paperclip, Square, X } from "lucide-react";
import { type ClipboardEvent, type KeyboardEvent, type MouseEvent, useEffect, useRef, useState } from "react";
import { Kept } from "../agent/kept.ts";
import type { Content } from "../agent/view.ts";
import { isChoosing, leave } from "../ui/focus.ts";
import { IconButton } from "../ui/IconButton.tsx";
import { type Attachment, attachmentsOf, contentOf, readFiles } from "./attachments.ts";
import { textOfContent } from "./UserMessage.tsx";

type Given = {
  /** What is written stays under this name. */
  draft: string;
  status: "ready" | "running" | "stopping" | "asked" | "waiting";
  send: (content: Content) => void;
  stop: () => void;
  /** A message that came back. */
  returned: { content: Content } | null;
};

const textOf = (draft: string) => new Kept<string>(`${draft} text`);
const filesOf = (draft: string) => new Kept<Attachment[]>(`${draft} files`);

/** The box for messages. It never moves; Send becomes Stop while the agent works. */
export function Composer({ draft, status, send, stop, returned }: Given) {
  const [text, setText] = useState(() => textOf(draft).value ?? "");
  const [files, setFiles] = useState(() => filesOf(draft).value ?? []);
  const [trouble, setTrouble] = useState("");
  const [reading, setReading] = useState(0);
  const picker = useRef<HTMLInputElement>(null);
  const busy = status === "running" || status === "stopping";
  // A message waits for its files.
  const ready = status === "ready" && reading === 0 && (text.trim() !== "" || files.length > 0);

  useEffect(() => void (textOf(draft).value = text || null), [draft, text]);
  useEffect(() => void (filesOf(draft).value = files.length > 0 ? files : null), [draft, files]);
  useEffect(() => {
    if (!returned) return;
    const before = textOfContent(returned.content);
    setText((text) => [before, text].filter(Boolean).join("\n"));
    setFiles((files) => [...attachmentsOf(returned.content), ...files]);
  }, [returned]);

  const add = async (list: FileList | null) => {
    if (!list?.length) return;
    setTrouble("");
    setReading((n) => n + 1);
    const read = await readFiles([...list]).catch(() => undefined);
    setReading((n) => n - 1);
    if (read) setFiles((known) => [...known, ...read]);
    else setTrouble("The file cannot be read.");
  };
  const submit = () => {
    if (!ready) return;
    // The first message of a conversation changes the name.
    textOf(draft).value = null;
    filesOf(draft).value = null;
    send(contentOf(text.trim(), files));
    setText("");
    setFiles([]);
  };
  const halt = (event: MouseEvent) => {
    if (event.detail > 1) return; // The second half of a double click on Send, which was here.
    leave(event);
    stop();
  };
  const key = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  const paste = (event: ClipboardEvent) => {
    const { files, types } = event.clipboardData;
    // Office programs add a picture of what was copied. A picture alone has no text, and a file has no HTML.
    const isText = types.includes("text/plain") && types.includes("text/html");
    if (files.length === 0 || isText) return;
    event.preventDefault();
    void add(files);
  };
  const over = useDrop(add);
  return (
    <form
      className={over ? "composer over" : "composer"}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {files.length > 0 && (
        <ul className="files" aria-label="Attachments">
          {files.map((file, n) => (
            <li key={n}>
              {file.type === "image" && <img src={`data:${file.mimeType};base64,${file.data}`} alt="" />}
              <span className="cut">{file.name}</span>
              <IconButton icon={X} label={`Remove ${file.name}`} onClick={() => setFiles(files.toSpliced(n, 1))} />
            </li>
          ))}
        </ul>
      )}
      {reading > 0 && (
        <p className="muted" role="status">
          Reading the file…
        </p>
      )}
      {trouble && (
        <p className="wrong" role="alert">
          {trouble}
        </p>
      )}
      <textarea
        id="message"
        rows={1}
        aria-label="Message"
        dir="auto"
        placeholder={status === "asked" ? "Answer the question above" : "Write a message…"}
        autoFocus={!isChoosing()}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={key}
        onPaste={paste}
      />
      <div className="row">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label="Files"
          onChange={(event) => {
            void add(event.target.files);
            event.target.value = "";
          }}
        />
        <IconButton icon={Paperclip} label="Attach files" onClick={() => picker.current?.click()} />
        <span className="grow" />
        {busy ? (
          <button type="button" className="round" aria-label="Stop" disabled={status === "stopping"} onClick={halt}>
            <Square size={14} fill="currentColor" aria-hidden />
          </button>
        ) : (
          <button className="round" aria-label="Send" disabled={!ready}>
            <ArrowUp size={18} aria-hidden />
          </button>
        )}
      </div>
    </form>
  );
}

/** Files that are dropped anywhere on the page: the browser would go to them. Returns whether some are over the page. */
function useDrop(add: (files: FileList) => void): boolean {
  const [over, setOver] = useState(false);
  useEffect(() => {
    // The browser drops text by itself.
    const files = ({ dataTransfer }: DragEvent) => (dataTransfer?.types.includes("Files") ? dataTransfer.files : null);
    const move = (event: DragEvent) => {
      if (!files(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = ({ relatedTarget }: DragEvent) => relatedTarget === null && setOver(false);
    const drop = (event: DragEvent) => {
      const dropped = files(event);
      if (!dropped) return;
      event.preventDefault();
      setOver(false);
      add(dropped);
    };
    addEventListener("dragover", move);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", move);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
    };
  });
  return over;
}
