import { ArrowUp, Paperclip, Square, X } from "lucide-react";
import { type ClipboardEvent, type DragEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import type { Content } from "../agent/store.ts";
import { IconButton } from "../ui/IconButton.tsx";
import { type Attachment, contentOf, readFiles } from "./attachments.ts";
import { textOfContent } from "./UserMessage.tsx";

type Given = {
  status: "ready" | "running" | "stopping" | "asked" | "waiting";
  send: (content: Content) => void;
  stop: () => void;
  /** A message that came back. */
  returned: Content | null;
};

const HINTS = {
  ready: "Write a message…",
  running: "Write a message…",
  stopping: "Write a message…",
  asked: "Answer the question above",
  waiting: "Write a message…",
};

/** The box for messages. It never moves; Send becomes Stop while the agent works. */
export function Composer({ status, send, stop, returned }: Given) {
  const [text, setText] = useState("");
  const [files, setFiles] = useState<Attachment[]>([]);
  const [over, setOver] = useState(false);
  const [trouble, setTrouble] = useState("");
  const picker = useRef<HTMLInputElement>(null);
  const busy = status === "running" || status === "stopping";
  const empty = text.trim() === "" && files.length === 0;

  useEffect(() => {
    if (returned) setText(textOfContent(returned));
  }, [returned]);

  const add = async (list: FileList | null) => {
    if (!list?.length) return;
    setTrouble("");
    const read = await readFiles([...list]).catch(() => undefined);
    if (read) setFiles((known) => [...known, ...read]);
    else setTrouble("The file cannot be read.");
  };
  const submit = () => {
    if (status !== "ready" || empty) return;
    send(contentOf(text.trim(), files));
    setText("");
    setFiles([]);
  };
  const key = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  const paste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    void add(event.clipboardData.files);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void add(event.dataTransfer.files);
  };
  return (
    <form
      className={over ? "composer over" : "composer"}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
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
      {trouble && (
        <p className="wrong" role="alert">
          {trouble}
        </p>
      )}
      <textarea
        id="message"
        rows={1}
        aria-label="Message"
        placeholder={HINTS[status]}
        autoFocus
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
          <button type="button" className="round" aria-label="Stop" disabled={status === "stopping"} onClick={stop}>
            <Square size={14} fill="currentColor" aria-hidden />
          </button>
        ) : (
          <button className="round" aria-label="Send" disabled={status !== "ready" || empty}>
            <ArrowUp size={18} aria-hidden />
          </button>
        )}
      </div>
    </form>
  );
}
