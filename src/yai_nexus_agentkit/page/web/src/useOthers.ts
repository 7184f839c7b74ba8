import { useCallback, useEffect, useRef } from "react";

type Word = { thread: string; what: "started" | "ended" | "deleted" };

/** Speak with the same page in other windows of this browser. Returns the function that says something. */
export function useOthers(hear: (word: Word) => void): (word: Word) => void {
  const channel = useRef<BroadcastChannel>(undefined);
  const listener = useRef(hear);
  listener.current = hear;
  useEffect(() => {
    if (!("BroadcastChannel" in globalThis)) return undefined;
    const opened = new BroadcastChannel(`chat ${location.pathname}`);
    opened.onmessage = ({ data }: MessageEvent<Word>) => listener.current(data);
    channel.current = opened;
    return () => opened.close();
  }, []);
  return useCallback((word: Word) => channel.current?.postMessage(word), []);
}
