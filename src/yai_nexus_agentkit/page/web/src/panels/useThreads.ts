import { useCallback, useEffect, useRef, useState } from "react";
import { deleteThread, Gone, keepsThreads, listThreads, PAGE_SIZE, renameThread, type ThreadInfo } from "../agent/client.ts";
import { extended, refreshed } from "./threadList.ts";

export type Threads = {
  list: readonly ThreadInfo[];
  more: boolean;
  /** False: the agent stores no conversations. */
  kept: boolean;
  trouble: string;
  /** The server is not there. The list is read again until it is back. */
  gone: boolean;
  search: string;
  setSearch: (text: string) => void;
  /** Returns the list, or undefined if it could not be read, or was read again meanwhile. */
  refresh: () => Promise<readonly ThreadInfo[] | undefined>;
  loadMore: () => void;
  /** Both return whether the server did it; if not, `trouble` says why. */
  rename: (id: string, title: string) => Promise<boolean>;
  remove: (id: string) => Promise<boolean>;
};

const TYPING = 200;
/** How often the list is read while a thread of it is running, or the server is not there. */
const RUNNING = 4000;
const AWAY = 2000;

/** The user's threads with an agent. */
export function useThreads(url: string): Threads {
  const [list, setList] = useState<readonly ThreadInfo[]>([]);
  const [more, setMore] = useState(false);
  const [search, setSearch] = useState("");
  const [trouble, setTrouble] = useState("");
  const [gone, setGone] = useState(false);
  const [kept, setKept] = useState(true);
  const asked = useRef(0);
  const known = useRef<readonly ThreadInfo[]>([]);

  useEffect(() => {
    let here = true;
    setKept(true);
    keepsThreads(url).then(
      (keeps) => here && setKept(keeps),
      () => undefined, // The list says what is wrong.
    );
    return () => void (here = false);
  }, [url]);

  const read = useCallback(
    async (before?: ThreadInfo) => {
      const number = ++asked.current;
      try {
        const found = await listThreads(url, search, before);
        if (number !== asked.current) return undefined;
        const next = before ? extended(known.current, found) : refreshed(known.current, found);
        // Older ones that were read before know whether there are more of them.
        if (before || next.length === found.length) setMore(found.length === PAGE_SIZE);
        setTrouble("");
        setGone(false);
        known.current = next;
        setList(next);
        return next;
      } catch (error) {
        if (number !== asked.current) return undefined;
        setTrouble((error as Error).message);
        setGone(error instanceof Gone);
        return undefined;
      }
    },
    [url, search],
  );
  useEffect(() => {
    known.current = [];
    const waited = setTimeout(() => void read(), search ? TYPING : 0);
    return () => clearTimeout(waited);
  }, [read, search]);
  // The addresses of the list are those of one agent.
  useEffect(() => setList([]), [url]);
  const pause = gone ? AWAY : list.some(({ status }) => status === "running") ? RUNNING : undefined;
  useEffect(() => {
    if (!pause) return undefined;
    const waited = setInterval(() => document.visibilityState === "visible" && void read(), pause);
    return () => clearInterval(waited);
  }, [pause, read]);

  const forget = (id: string) => {
    known.current = known.current.filter(({ threadId }) => threadId !== id);
  };
  const changing = async (work: Promise<unknown>) => {
    const failure = await work.then(
      () => "",
      (error: Error) => error.message,
    );
    await read();
    if (failure) setTrouble(failure);
    return !failure;
  };
  return {
    list,
    more,
    kept,
    trouble,
    gone,
    search,
    setSearch,
    refresh: read,
    loadMore: () => void read(list.at(-1)),
    rename: (id, title) => changing(renameThread(url, id, title)),
    remove: (id) => changing(deleteThread(url, id).then(() => forget(id))),
  };
}
