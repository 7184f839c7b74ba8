import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { deleteThread, listThreads, type ThreadInfo } from "./agent/client";
import { ThreadStore, type ClientTool } from "./agent/store";
import type { PageConfig } from "./config";
import { Thread } from "./chat/Thread";
import { Inspector } from "./panels/Inspector";
import { Sidebar } from "./panels/Sidebar";
import { IconButton } from "./ui/icons";

const tools: Record<string, ClientTool> = {};
const fromHash = () => location.hash.slice(2);
const useTheme = () => {
  const [theme, setTheme] = useState(
    () => localStorage.getItem("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"),
  );
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  return [
    theme,
    () =>
      setTheme((now) => {
        const next = now === "dark" ? "light" : "dark";
        localStorage.setItem("theme", next);
        return next;
      }),
  ] as const;
};

export function App({ config }: { config: PageConfig }) {
  const URL_ = config.agents[0]!.url;
  const [id, setId] = useState(() => fromHash() || crypto.randomUUID()),
    [known, setKnown] = useState(() => !!fromHash());
  const [threads, setThreads] = useState<ThreadInfo[]>([]),
    [menu, setMenu] = useState(false),
    [inspector, setInspector] = useState(false),
    [theme, toggleTheme] = useTheme();
  const reload = () => void listThreads(URL_).then(setThreads, () => undefined);
  const store = useMemo(() => new ThreadStore(URL_, id, known, tools, reload), [id]);
  useEffect(() => () => store.dispose(), [store]);
  const view = useSyncExternalStore(store.subscribe, store.snapshot);
  const go = (next: string, old: boolean) => {
    setKnown(old);
    setId(next);
    setMenu(false);
  };
  useEffect(reload, []);
  useEffect(() => {
    const moved = () => {
      const next = fromHash();
      if (next && next !== id) go(next, true);
    };
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, [id]);
  useEffect(() => {
    if (view.messages.length && fromHash() !== id) history.replaceState(null, "", `#/${id}`);
    if (view.status === "running") reload();
  }, [view.messages.length > 0, view.status, id]);
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if ((e.metaKey || e.ctrlKey) && e.shiftKey && e.key.toLowerCase() === "o") {
        e.preventDefault();
        create();
      }
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  });
  const create = () => {
    history.replaceState(null, "", location.pathname);
    go(crypto.randomUUID(), false);
  };
  const title = threads.find((t) => t.threadId === id)?.title ?? "New chat";
  useEffect(() => {
    document.title = title;
  }, [title]);
  return (
    <div className={`app${menu ? " menu" : ""}${inspector ? " inspecting" : ""}`}>
      <a className="skip" href="#chat">
        Skip to the conversation
      </a>
      <Sidebar
        threads={threads}
        current={id}
        choose={(next) => go(next, true)}
        create={create}
        close={() => setMenu(false)}
        remove={(gone) =>
          void deleteThread(URL_, gone).then(() => {
            reload();
            if (gone === id) create();
          })
        }
      />
      <div className="veil" onClick={() => setMenu(false)} />
      <div className="middle">
        <header className="bar">
          <span className="phone">
            <IconButton icon="menu" label="Conversations" aria-expanded={menu} onClick={() => setMenu(true)} />
          </span>
          <span className="title">{title}</span>
          <span className="grow" />
          <IconButton
            icon={theme === "dark" ? "sun" : "moon"}
            label={theme === "dark" ? "Light" : "Dark"}
            onClick={toggleTheme}
          />
          <IconButton
            icon="panel"
            label="Inspector"
            aria-expanded={inspector}
            onClick={() => setInspector(!inspector)}
          />
        </header>
        <Thread key={id} store={store} view={view} title={title} />
      </div>
      {inspector && <Inspector view={view} close={() => setInspector(false)} />}
    </div>
  );
}
