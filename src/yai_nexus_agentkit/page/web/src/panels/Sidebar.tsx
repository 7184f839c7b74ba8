import type { ThreadInfo } from "../agent/client";
import { Icon, IconButton } from "../ui/icons";

const when = (at: string) => {
  const d = new Date(at),
    today = new Date().toDateString() === d.toDateString();
  return today ? d.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }) : d.toLocaleDateString();
};
export const Sidebar = ({
  threads,
  current,
  choose,
  create,
  remove,
  close,
}: {
  threads: ThreadInfo[];
  current: string;
  choose: (id: string) => void;
  create: () => void;
  remove: (id: string) => void;
  close: () => void;
}) => (
  <nav className="sidebar" aria-label="Conversations">
    <header className="row">
      <button className="button wide" onClick={create}>
        <Icon name="plus" /> New chat
      </button>
      <span className="phone">
        <IconButton icon="x" label="Close" onClick={close} />
      </span>
    </header>
    <ul>
      {threads.map((thread) => (
        <li key={thread.threadId} className={thread.threadId === current ? "current" : undefined}>
          <a
            href={`#/${thread.threadId}`}
            aria-current={thread.threadId === current ? "page" : undefined}
            onClick={() => choose(thread.threadId)}
          >
            <span className="title">{thread.title || "New chat"}</span>
            <span className="muted">
              {thread.status === "running"
                ? "running"
                : thread.status === "paused"
                  ? "waits for you"
                  : when(thread.updatedAt)}
            </span>
          </a>
          <IconButton icon="trash" label={`Delete ${thread.title}`} onClick={() => remove(thread.threadId)} />
        </li>
      ))}
    </ul>
  </nav>
);
