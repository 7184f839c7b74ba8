import { useCallback, useEffect, useRef, useState } from "react";
import { deleteThread, listThreads, PAGE_SIZE, renameThread, type ThreadInfo } from "../agent/client.ts";

export type Threads = {
  list: readonly ThreadInfo[];
  more: boolean;
  trouble: string;
  search: string;
  setSearch: (text: string) => void;
  refresh: () => Promise<readonly ThreadInfo[]>;
  loadMore: () => void;
  rename: (id: string, title: string) => Promise<void>;
  remove: (id: string) => Promise<void>;
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
  const asked = useRef(0);

  const read = useCallback(
    async (before?: ThreadInfo) => {
      const number = ++asked.current;
      try {
        const found = await listThreads(url, search, before?.updatedAt);
        if (number !== asked.current) return [];
        setList((known) => (before ? [...known, ...found] : found));
        setMore(found.length === PAGE_SIZE);
        setTrouble("");
        return found;
      } catch (error) {
        if (number === asked.current) setTrouble((error as Error).message);
        return [];
      }
    },
    [url, search],
  );
  useEffect(() => {
    const waited = setTimeout(() => void read(), search ? TYPING : 0);
    return () => clearTimeout(waited);
  }, [read, search]);
  const running = list.some(({ status }) => status === "running");
  useEffect(() => {
    if (!running) return undefined;
    const waited = setInterval(() => document.visibilityState === "visible" && void read(), RUNNING);
    return () => clearInterval(waited);
  }, [running, read]);

  const changing = async (work: Promise<unknown>) => {
    await work.then(
      () => setTrouble(""),
      (error: Error) => setTrouble(error.message),
    );
    await read();
  };
  return {
    list,
    more,
    trouble,
    search,
    setSearch,
    refresh: read,
    loadMore: () => void read(list.at(-1)),
    rename: (id, title) => changing(renameThread(url, id, title)),
    remove: (id) => changing(deleteThread(url, id)),
  };
}
