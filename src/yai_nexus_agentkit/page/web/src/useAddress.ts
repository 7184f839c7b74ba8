import { useEffect, useState } from "react";
import { newId } from "./agent/ids.ts";

/** Where the user is: `#/agent/thread`. A thread that `isNew` has no address until something was said in it. */
export type Place = { agent: string; thread: string; isNew: boolean };

export const newPlace = (agent: string): Place => ({ agent, thread: newId(), isNew: true });

/** The place in the address bar, and a function that moves to another one. */
export function useAddress(agents: readonly string[]): [Place, (place: Place) => void] {
  const [place, setPlace] = useState(() => read(agents) ?? newPlace(agents[0] ?? ""));
  useEffect(() => {
    const moved = () => {
      const next = read(agents) ?? (location.hash === "" ? newPlace(agents[0] ?? "") : undefined);
      if (next) setPlace((now) => (next.thread === now.thread && next.agent === now.agent ? now : next));
    };
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, [agents]);
  const move = (next: Place) => {
    if (next.isNew) history.pushState(null, "", location.pathname + location.search);
    setPlace(next);
  };
  return [place, move];
}

function read(agents: readonly string[]): Place | undefined {
  const [agent, thread] = location.hash.replace(/^#\//, "").split("/").map(decoded);
  return agent && thread && agents.includes(agent) ? { agent, thread, isNew: false } : undefined;
}

/** The text, or undefined if it is no part of a URL: addresses are also written by hand. */
export function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
