import { useCallback, useEffect, useRef, useState } from "react";
import { deleteThread, keepsThreads, listThreads, PAGE_SIZE, renameThread, type ThreadInfo } from "../agent/client.ts";
import { extended, refreshed } from "./threadList.ts";

export type Threads = {
  list: readonly ThreadInfo[];
  more: boolean;
  /** False: the agent stores no conversations. */
  kept: boolean;
  trouble: string;
  search: string;
  setSearch: (text: string) => void;
  refresh: () => Promise<readonly ThreadInfo[]>;
  loadMore: () => void;
  /** Both return whether the server did it; if not, `trouble` says why. */
  rename: (id: string, title: string) => Promise<boolean>;
  remove: (id: string) => Promise<boolean>;
};

const TYPING = 200;
/** How often the list is read while a thread of it is running. */
const RUNNING = 4000;

/** The user's threads with an agent. */
export function useThreads(url: string): Threads {
  const [list, setList] = useState<readonly ThreadInfo[]>([]);
  const [more, setMore] = useState(false);
  const [search, setSearch] = useState("");
  const [trouble, setTrouble] = useState("");
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
        if (number !== asked.current) return [];
        const next = before ? extended(known.current, found) : refreshed(known.current, found);
        // Older ones that were read before know whether there are more of them.
        if (before || next.length === found.length) setMore(found.length === PAGE_SIZE);
        setTrouble("");
        known.current = next;
        setList(next);
        return next;
      } catch (error) {
        if (number === asked.current) setTrouble((error as Error).message);
        return [];
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
  const running = list.some(({ status }) => status === "running");
  useEffect(() => {
    if (!running) return undefined;
    const waited = setInterval(() => document.visibilityState === "visible" && void read(), RUNNING);
    return () => clearInterval(waited);
  }, [running, read]);

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
    search,
    setSearch,
    refresh: read,
    loadMore: () => void read(list.at(-1)),
    rename: (id, title) => changing(renameThread(url, id, title)),
    remove: (id) => changing(deleteThread(url, id).then(() => forget(id))),
  };
}
