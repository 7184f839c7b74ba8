import { useEffect, useState } from "react";

export type Theme = "light" | "dark";

/** The user's choice, else the system's, also while that changes. */
export function useTheme(): [Theme, () => void] {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const [system, setSystem] = useState<Theme>(dark.matches ? "dark" : "light");
  const [chosen, setChosen] = useState(kept);
  const theme = chosen ?? system;
  useEffect(() => {
    const changed = (event: MediaQueryListEvent) => setSystem(event.matches ? "dark" : "light");
    dark.addEventListener("change", changed);
    return () => dark.removeEventListener("change", changed);
  }, []);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  const toggle = () => {
    const next = theme === "dark" ? "light" : "dark";
    keep(next);
    setChosen(next);
  };
  return [theme, toggle];
}

/** Other pages of the server have keys of their own. */
const KEY = "chat-page.theme";

/** Browsers may refuse to store anything, by throwing. */
function kept(): Theme | null {
  try {
    const theme = localStorage.getItem(KEY);
    return theme === "light" || theme === "dark" ? theme : null;
  } catch {
    return null;
  }
}

function keep(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // The choice lasts until the page is closed.
  }
}
