import type { UserMessage } from "@ag-ui/client";
import { useEffect, useRef, useState } from "react";
import { Icon, IconButton } from "../ui/icons";

type Content = UserMessage["content"];
type Upload = { name: string; mimeType: string; value: string };
const read = (file: File) =>
  new Promise<Upload>((done, fail) => {
    const reader = new FileReader();
    reader.onload = () =>
      done({
        name: file.name,
        mimeType: file.type || "application/octet-stream",
        value: String(reader.result).split(",")[1] ?? "",
      });
    reader.onerror = () => fail(reader.error);
    reader.readAsDataURL(file);
  });
const part = ({ name, mimeType, value }: Upload) => {
  const type = /^(image|audio|video)\//.exec(mimeType)?.[1] ?? "document";
  return { type, source: { type: "data", value, mimeType }, metadata: { filename: name } } as never;
};

export function Composer({
  busy,
  stopping,
  blocked,
  send,
  stop,
  draft,
}: {
  busy: boolean;
  stopping: boolean;
  blocked: boolean;
  send: (content: Content) => void;
  stop: () => void;
  draft: string;
}) {
  const [text, setText] = useState(""),
    [files, setFiles] = useState<Upload[]>([]),
    [over, setOver] = useState(false);
  const box = useRef<HTMLTextAreaElement>(null),
    picker = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (draft) {
      setText(draft);
      box.current?.focus();
    }
  }, [draft]);
  const add = async (list: FileList | File[] | null) => {
    if (list?.length) setFiles([...files, ...(await Promise.all([...list].map(read)))]);
  };
  const submit = () => {
    if (busy || blocked || !(text.trim() || files.length)) return;
    send(
      files.length
        ? [...(text.trim() ? [{ type: "text" as const, text: text.trim() }] : []), ...files.map(part)]
        : text.trim(),
    );
    setText("");
    setFiles([]);
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
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void add(event.dataTransfer.files);
      }}
    >
      {files.length > 0 && (
        <ul className="files" aria-label="Attachments">
          {files.map((file, n) => (
            <li key={n}>
              {file.mimeType.startsWith("image/") && <img src={`data:${file.mimeType};base64,${file.value}`} alt="" />}
              <span>{file.name}</span>
              <IconButton
                icon="x"
                label={`Remove ${file.name}`}
                onClick={() => setFiles(files.filter((_, m) => m !== n))}
              />
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={box}
        rows={1}
        aria-label="Message"
        placeholder={blocked ? "Answer the question above" : "Write a message…"}
        value={text}
        autoFocus
        onChange={(event) => setText(event.target.value)}
        onPaste={(event) => {
          if (event.clipboardData.files.length) {
            event.preventDefault();
            void add(event.clipboardData.files);
          }
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
            event.preventDefault();
            submit();
          }
          if (event.key === "Escape" && busy) stop();
        }}
      />
      <div className="row">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={(event) => {
            void add(event.target.files);
            event.target.value = "";
          }}
        />
        <IconButton icon="clip" label="Attach files" onClick={() => picker.current?.click()} />
        <span className="grow" />
        {busy ? (
          <button type="button" className="round" aria-label="Stop" disabled={stopping} onClick={stop}>
            <Icon name="stop" />
          </button>
        ) : (
          <button className="round" aria-label="Send" disabled={blocked || !(text.trim() || files.length)}>
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}
