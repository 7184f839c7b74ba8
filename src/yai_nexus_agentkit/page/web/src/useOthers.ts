import { useCallback, useEffect, useRef } from "react";

/** "opened": the page was opened. The others are about the conversation with the address. */
type Word = { address: string; what: "opened" | "started" | "ended" | "deleted" };

/** Speak with the same page in other windows of this browser. Returns the function that says something. */
export function useOthers(hear: (word: Word) => void): (word: Word) => void {
  const channel = useRef<BroadcastChannel>(undefined);
  const listener = useRef(hear);
  listener.current = hear;
  const announce = useCallback((word: Word) => channel.current?.postMessage(word), []);
  useEffect(() => {
    if (!("BroadcastChannel" in globalThis)) return undefined;
    const opened = new BroadcastChannel(`chat ${location.pathname}`);
    opened.onmessage = ({ data }: MessageEvent<Word>) => listener.current(data);
    channel.current = opened;
    announce({ address: "", what: "opened" });
    return () => opened.close();
  }, [announce]);
  return announce;
}
