import { Pencil, Plus, Search, Trash2, X } from "lucide-react";
import { type FormEvent, useEffect, useRef, useState } from "react";
import type { ThreadInfo } from "../agent/client.ts";
import { IconButton } from "../ui/IconButton.tsx";
import type { Threads } from "./useThreads.ts";

type Given = {
  title: string;
  agents: readonly string[];
  agent: string;
  setAgent: (name: string) => void;
  threads: Threads;
  current: string;
  addressOf: (id: string) => string;
  create: () => void;
  remove: (id: string) => void;
  close: () => void;
};

/** The agents, and the conversations with one of them. */
export function Sidebar(given: Given) {
  const { title, agents, agent, setAgent, threads, current, addressOf, create, remove, close } = given;
  const { list, more, kept, trouble, search, setSearch } = threads;
  const [rows, loadMore] = useMore(threads);
  return (
    <nav className="sidebar" aria-label="Conversations">
      <header className="row">
        <strong className="cut grow">{title}</strong>
        <span className="phone">
          <IconButton icon={X} label="Close the list" onClick={close} />
        </span>
      </header>
      {agents.length > 1 && (
        <select aria-label="Agent" value={agent} onChange={(event) => setAgent(event.target.value)}>
          {agents.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
      <button type="button" className="button" onClick={create}>
        <Plus size={16} aria-hidden /> New chat
      </button>
      <div className="search">
        <Search size={14} aria-hidden />
        <input
          type="search"
          autoComplete="off"
          aria-label="Search conversations"
          placeholder="Search"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
      </div>
      {trouble && (
        <p className="wrong" role="alert">
          {trouble}
        </p>
      )}
      <ul ref={rows}>
        {list.map((thread) => (
          <Item
            key={thread.threadId}
            thread={thread}
            current={thread.threadId === current}
            address={addressOf(thread.threadId)}
            choose={close}
            rename={(text) => void threads.rename(thread.threadId, text)}
            remove={() => remove(thread.threadId)}
          />
        ))}
        {list.length === 0 && <li className="muted none">{noneOf(kept, search)}</li>}
        {more && (
          <li>
            <button type="button" className="button ghost" onClick={loadMore}>
              Show more
            </button>
          </li>
        )}
      </ul>
    </nav>
  );
}

/** The list, and what shows more of it. The focus goes to the first of them: the button may be gone then. */
function useMore({ list, loadMore }: Threads) {
  const rows = useRef<HTMLUListElement>(null);
  const before = useRef(Infinity);
  useEffect(() => {
    if (list.length <= before.current) return;
    rows.current?.querySelectorAll<HTMLElement>("li > a")[before.current]?.focus();
    before.current = Infinity;
  }, [list]);
  const load = () => {
    before.current = list.length;
    loadMore();
  };
  return [rows, load] as const;
}

function noneOf(kept: boolean, search: string): string {
  if (!kept) return "This agent keeps no conversations: a reload of the page forgets them.";
  return search ? "Nothing found." : "No conversations yet.";
}

type ItemGiven = {
  thread: ThreadInfo;
  current: boolean;
  address: string;
  choose: () => void;
  rename: (title: string) => void;
  remove: () => void;
};

function Item({ thread, current, address, choose, rename, remove }: ItemGiven) {
  const [mode, setMode] = useState<"look" | "rename" | "remove">("look");
  // Which button gets the focus back.
  const [left, setLeft] = useState<"rename" | "remove">();
  const title = thread.title || "New chat";
  const look = () => {
    setMode("look");
    if (mode !== "look") setLeft(mode);
  };
  if (mode === "rename") {
    const submit = (text: string) => {
      if (text && text !== title) rename(text);
      look();
    };
    const leave = (text: string) => {
      submit(text);
      setLeft(undefined);
    };
    return (
      <li className="current">
        <TitleForm title={title} submit={submit} cancel={look} leave={leave} />
      </li>
    );
  }
  if (mode === "remove") {
    return (
      <li className="current">
        <Sure title={title} remove={remove} cancel={look} />
      </li>
    );
  }
  return (
    <li className={current ? "current" : undefined}>
      <a href={address} aria-current={current ? "page" : undefined} onClick={choose}>
        <span className="cut" dir="auto">
          {title}
        </span>
        <span className={`muted ${thread.status}`}>{aboutOf(thread)}</span>
      </a>
      <IconButton
        icon={Pencil}
        label={`Rename ${title}`}
        autoFocus={left === "rename"}
        onClick={() => setMode("rename")}
      />
      <IconButton
        icon={Trash2}
        label={`Delete ${title}`}
        autoFocus={left === "remove"}
        onClick={() => setMode("remove")}
      />
    </li>
  );
}

type TitleGiven = {
  title: string;
  submit: (title: string) => void;
  cancel: () => void;
  /** The focus went elsewhere. */
  leave: (title: string) => void;
};

function TitleForm({ title, submit, cancel, leave }: TitleGiven) {
  const [text, setText] = useState(title);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => box.current?.select(), []);
  const send = (event: FormEvent) => {
    event.preventDefault();
    submit(text.trim());
  };
  return (
    <form className="grow" autoComplete="off" onSubmit={send}>
      <input
        ref={box}
        aria-label="Title"
        dir="auto"
        value={text}
        autoFocus
        maxLength={200}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => leave(text.trim())}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.preventDefault();
          cancel();
        }}
      />
    </form>
  );
}

/** A deleted thread does not come back, so it takes two clicks. */
function Sure({ title, remove, cancel }: { title: string; remove: () => void; cancel: () => void }) {
  return (
    <div className="sure" role="group" aria-label={`Delete ${title}?`}>
      <span className="cut grow">Delete this chat?</span>
      <button type="button" className="button small danger" autoFocus onClick={remove}>
        Delete
      </button>
      <button type="button" className="button small" onClick={cancel}>
        Keep
      </button>
    </div>
  );
}

function aboutOf({ status, updatedAt }: ThreadInfo): string {
  if (status === "running") return "running";
  if (status === "paused") return "waits for you";
  const date = new Date(updatedAt);
  const today = date.toDateString() === new Date().toDateString();
  const when = today ? date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }) : date.toLocaleDateString();
  return status === "failed" ? `failed, ${when}` : when;
}
