import { Brain, ChevronRight } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Markdown } from "../ui/Markdown.tsx";

/** The model's thoughts: one line, to be opened. */
export function Reasoning({ text, live }: { text: string; live: boolean }) {
  const seconds = useSeconds(live);
  const [open, setOpen] = useState(false);
  const done = seconds ? `Thought for ${seconds} s` : "Thought";
  return (
    <details className="reasoning" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Brain size={14} aria-hidden />
        <span className={live ? "shimmer" : undefined}>{live ? "Thinking…" : done}</span>
        <ChevronRight size={14} aria-hidden />
      </summary>
      {open && <Markdown text={text} streaming={live} />}
    </details>
  );
}

/** How long it was live, if this page saw it. */
function useSeconds(live: boolean): number {
  const begun = useRef(live ? performance.now() : undefined);
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    if (!live && begun.current !== undefined) setSeconds(Math.round((performance.now() - begun.current) / 1000));
  }, [live]);
  return seconds;
}
