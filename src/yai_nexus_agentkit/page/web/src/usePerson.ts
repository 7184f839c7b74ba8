import { useCallback, useEffect } from "react";
import { personNow } from "./config.ts";

/**
 * Load the page anew when somebody else has signed in, or `person` has signed out: nothing of what one of them wrote or
 * saw is for the next. Returns the function that looks.
 */
export function usePerson(person: string | null): () => Promise<void> {
  const look = useCallback(async () => {
    const now = await personNow().catch(() => person); // Without an answer nothing is known.
    if (now !== person) location.reload();
  }, [person]);
  useEffect(() => {
    const shown = () => document.visibilityState === "visible" && void look();
    // Browsers keep the page that is left, and show it again as it was: whoever goes back to it.
    const left = () => (document.documentElement.hidden = true);
    const back = ({ persisted }: PageTransitionEvent) => persisted && location.reload();
    document.addEventListener("visibilitychange", shown);
    addEventListener("focus", shown);
    addEventListener("pagehide", left);
    addEventListener("pageshow", back);
    return () => {
      document.removeEventListener("visibilitychange", shown);
      removeEventListener("focus", shown);
      removeEventListener("pagehide", left);
      removeEventListener("pageshow", back);
    };
  }, [look]);
  return look;
}
