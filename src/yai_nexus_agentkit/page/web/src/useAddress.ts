import { useEffect, useState } from "react";
import { newId } from "./agent/ids.ts";

/** Where the user is: `#/agent/thread`. A thread that `isNew` has `#/agent` until something was said in it. */
export type Place = { agent: string; thread: string; isNew: boolean };

const newPlace = (agent: string): Place => ({ agent, thread: newId(), isNew: true });

/** Where new threads with an agent begin. */
const beginning = (agent: string): string => `#/${encodeURIComponent(agent)}`;

/** The place in the address bar, and a function that begins a new thread. `instead`: nothing leads back to this one. */
export function useAddress(agents: readonly string[]): [Place, (agent: string, instead?: boolean) => void] {
  const [place, setPlace] = useState(() => read(agents) ?? newPlace(agents[0] ?? ""));
  useEffect(() => {
    const moved = () => {
      const next = read(agents) ?? (location.hash === "" ? newPlace(agents[0] ?? "") : undefined);
      if (next) setPlace((now) => (next.thread === now.thread && next.agent === now.agent ? now : next));
    };
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, [agents]);
  const begin = (agent: string, instead = false) => {
    const next = beginning(agent);
    if (instead) history.replaceState(null, "", next);
    else if (location.hash !== next) history.pushState(null, "", next);
    setPlace(newPlace(agent));
  };
  return [place, begin];
}

function read(agents: readonly string[]): Place | undefined {
  const [agent, thread] = location.hash.replace(/^#\//, "").split("/").map(decoded);
  if (!agent || !agents.includes(agent)) return undefined;
  return thread ? { agent, thread, isNew: false } : newPlace(agent);
}

/** The text, or undefined if it is no part of a URL: addresses are also written by hand. */
export function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
