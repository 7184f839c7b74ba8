import { useEffect, useState } from "react";

export type Theme = "light" | "dark";

/** The user's choice, else the system's, also while that changes. */
export function useTheme(): [Theme, () => void] {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const [system, setSystem] = useState<Theme>(dark.matches ? "dark" : "light");
  const [chosen, setChosen] = useState(() => localStorage.getItem("theme") as Theme | null);
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
    localStorage.setItem("theme", next);
    setChosen(next);
  };
  return [theme, toggle];
}
