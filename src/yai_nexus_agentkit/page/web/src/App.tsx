import { Menu, Moon, PanelRight, Sun } from "lucide-react";
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { addressOf } from "./agent/ids.ts";
import { forget } from "./agent/kept.ts";
import { ThreadStore } from "./agent/store.ts";
import type { View } from "./agent/view.ts";
import { Thread } from "./chat/Thread.tsx";
import { textOfContent } from "./chat/UserMessage.tsx";
import { type AgentInfo, type PageConfig, personOf } from "./config.ts";
import { Sidebar } from "./panels/Sidebar.tsx";
import { StatePanel } from "./panels/StatePanel.tsx";
import { type Threads, useThreads } from "./panels/useThreads.ts";
import { Guard } from "./ui/Guard.tsx";
import { focusMessage, stayNearby } from "./ui/focus.ts";
import { IconButton } from "./ui/IconButton.tsx";
import { useTheme } from "./ui/useTheme.ts";
import { type Place, useAddress } from "./useAddress.ts";
import { useOthers } from "./useOthers.ts";
import { usePerson } from "./usePerson.ts";

/** The page: a list of conversations, one of them, and what is behind it. */
export function App({ config }: { config: PageConfig }) {
  const names = useMemo(() => config.agents.map(({ name }) => name), [config]);
  const [place, begin] = useAddress(names);
  const agent = config.agents.find(({ name }) => name === place.agent) ?? config.agents[0]!;
  const threads = useThreads(agent.url);
  const look = usePerson(personOf(config));
  const [store, announce] = useStore(agent, place, threads, () => begin(place.agent, true), look);
  const view = useSyncExternalStore(store.subscribe, store.snapshot);
  const [menu, setMenu] = useMenu();
  const [panel, setPanel] = useState(false);
  const [theme, toggleTheme] = useTheme();
  const title = useTitle(threads, place.thread, view);

  const create = () => {
    begin(place.agent);
    setMenu(false);
  };
  const remove = async (id: string) => {
    if (!(await threads.remove(id))) return;
    announce({ address: addressOf(place.agent, id), what: "deleted" });
    forget(`${addressOf(place.agent, id)} `);
    if (id !== place.thread) return focusMessage();
    begin(place.agent, true);
    setMenu(false);
  };
  useShortcut(create);
  useEffect(() => {
    document.addEventListener("click", stayNearby);
    return () => document.removeEventListener("click", stayNearby);
  }, []);
  const closePanel = () => {
    setPanel(false);
    document.getElementById("panel-button")?.focus();
  };
  useEffect(() => {
    document.title = config.title ? `${title} · ${config.title}` : title;
  }, [title, config.title]);
  const begun = view.messages.length > 0;
  useEffect(() => {
    if (begun) history.replaceState(null, "", addressOf(place.agent, place.thread));
  }, [begun, place]);

  return (
    <div className={`app${menu ? " menu" : ""}`}>
      <a className="skip" href="#message" onClick={skip}>
        Skip to the conversation
      </a>
      <Sidebar
        title={config.title ?? "Chats"}
        agents={names}
        agent={place.agent}
        setAgent={(name) => begin(name)}
        threads={threads}
        current={place.thread}
        addressOf={(id) => addressOf(place.agent, id)}
        create={create}
        remove={(id) => void remove(id)}
        close={() => setMenu(false)}
      />
      <div className="veil" onClick={() => setMenu(false)} />
      <div className="middle" inert={menu}>
        <header className="bar">
          <span className="phone">
            <IconButton icon={Menu} label="Conversations" labelled aria-expanded={menu} onClick={() => setMenu(true)} />
          </span>
          <span className="cut grow title" dir="auto">
            {title}
          </span>
          <IconButton
            icon={theme === "dark" ? Sun : Moon}
            label={theme === "dark" ? "Light colours" : "Dark colours"}
            labelled
            onClick={toggleTheme}
          />
          <IconButton
            id="panel-button"
            icon={PanelRight}
            label="State and events"
            labelled
            aria-expanded={panel}
            onClick={() => setPanel(!panel)}
          />
        </header>
        <Guard key={place.thread} fallback={<Unshown />} value={view.messages}>
          <Thread
            store={store}
            view={view}
            title={title}
            draft={addressOf(place.agent, place.isNew && !begun ? "" : place.thread)}
            welcome="What can I do for you?"
            examples={agent.examples ?? []}
          />
        </Guard>
      </div>
      {panel && <StatePanel store={store} view={view} inspector={config.inspector} close={closePanel} />}
    </div>
  );
}

const Unshown = () => (
  <main className="thread">
    <p className="cannot" role="alert">
      This conversation cannot be shown.
    </p>
  </main>
);

/** The store of the thread, kept in step with the list and with other windows. */
function useStore(agent: AgentInfo, place: Place, threads: Threads, leave: () => void, look: () => Promise<void>) {
  const own = addressOf(place.agent, place.thread);
  const announce = useOthers(({ address, what }) => {
    void threads.refresh();
    if (what === "opened") void look();
    if (what === "deleted") forget(`${address} `);
    if (what === "deleted" && address === own) leave(); // A message would bring it back.
    if (what === "started" && address === own) void store.follows();
  });
  // The list's search changes `refresh`, and must not open the thread again.
  const refresh = useRef(threads.refresh);
  refresh.current = threads.refresh;
  const store = useMemo(() => {
    const say = (what: "started" | "ended") => {
      announce({ address: own, what });
      void refresh.current();
    };
    return new ThreadStore(agent, place.thread, { started: () => say("started"), ended: () => say("ended") });
  }, [agent, place.thread]);
  useEffect(() => {
    if (!place.isNew) void store.join();
    return () => store.dispose();
  }, [store]);
  useEffect(() => {
    // What became of a run whose connection was lost. A message that did not arrive is for the user to send.
    if (!threads.gone && store.snapshot().trouble?.retry === "join") void store.join();
  }, [threads.gone]);
  useReturn(async () => {
    const before = threads.list.find(({ threadId }) => threadId === place.thread);
    const list = await threads.refresh();
    const after = list?.find(({ threadId }) => threadId === place.thread);
    // If it is gone from the list, the server says whether it is gone.
    const moved = before && list && (after?.updatedAt !== before.updatedAt || after.status === "running");
    if (moved && store.snapshot().status === "idle") await store.join();
  });
  return [store, announce] as const;
}

/** The thread's title. Also when it is not in the list: because of a search, or because it is old. */
function useTitle({ list }: Threads, thread: string, { messages }: View): string {
  const seen = useRef<Record<string, string>>({});
  const listed = list.find(({ threadId }) => threadId === thread)?.title;
  if (listed) seen.current[thread] = listed;
  const first = messages.find((message) => message.role === "user");
  return listed || seen.current[thread] || textOfContent(first?.content ?? "").slice(0, 80) || "New chat";
}

/** Whether the list lies over the conversation, as it does on a phone. Then it has the keyboard. */
function useMenu() {
  const [menu, setMenu] = useState(false);
  useEffect(() => {
    if (!menu) return undefined;
    document.querySelector<HTMLElement>("nav button")?.focus();
    const wide = matchMedia("(min-width: 769px)");
    const close = () => setMenu(false);
    const key = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      event.preventDefault();
      close();
    };
    addEventListener("keydown", key);
    wide.addEventListener("change", close);
    return () => {
      removeEventListener("keydown", key);
      wide.removeEventListener("change", close);
      document.querySelector<HTMLElement>(".middle .phone button")?.focus();
    };
  }, [menu]);
  return [menu, setMenu] as const;
}

/** Something may have happened while the user was elsewhere. */
function useReturn(look: () => Promise<void>) {
  useEffect(() => {
    const shown = () => document.visibilityState === "visible" && void look();
    document.addEventListener("visibilitychange", shown);
    return () => document.removeEventListener("visibilitychange", shown);
  });
}

/** Ctrl+Shift+O begins a new chat. */
function useShortcut(create: () => void) {
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (!(event.metaKey || event.ctrlKey) || !event.shiftKey || event.key.toLowerCase() !== "o") return;
      event.preventDefault();
      create();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  });
}

function skip(event: React.MouseEvent) {
  event.preventDefault();
  document.getElementById("message")?.focus();
}
