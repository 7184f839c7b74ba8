import { RefreshCw } from "lucide-react";
import { memo, type MouseEvent } from "react";
import { about } from "../agent/kept.ts";
import type { ThreadStore } from "../agent/store.ts";
import type { Turn } from "../agent/timeline.ts";
import { CopyButton } from "../ui/CopyButton.tsx";
import { leave } from "../ui/focus.ts";
import { Guard } from "../ui/Guard.tsx";
import { IconButton } from "../ui/IconButton.tsx";
import { BlockView, type Now } from "./Blocks.tsx";
import { UserMessage } from "./UserMessage.tsx";

type Given = {
  turn: Turn;
  store: ThreadStore;
  /** What is written in the conversation stays under this name. */
  draft: string;
  now: Now;
  busy: boolean;
  /** Whether the answer can be generated again. */
  again: boolean;
};

/** What the user said, or all that the agent did about it. */
export const TurnView = memo(({ turn, store, draft, now, busy, again }: Given) => {
  const [first] = turn.blocks;
  if (first?.kind === "user") {
    return (
      <article aria-label="You">
        <h2 className="sr">You</h2>
        <Guard fallback={<Undrawn />} value={first}>
          <UserMessage
            block={first}
            kept={`${about(draft, first.id)}edit`}
            busy={busy}
            send={(content, edited) => void store.send(content, edited)}
          />
        </Guard>
      </article>
    );
  }
  const regenerate = (event: MouseEvent) => {
    leave(event);
    void store.regenerate();
  };
  const texts = turn.blocks.flatMap((block) => (block.kind === "text" ? [block.message.content ?? ""] : []));
  return (
    <article className="assistant" aria-label="Agent" aria-busy={now.running}>
      <h2 className="sr">Agent</h2>
      {turn.blocks.map((block) => (
        <Guard key={block.id} fallback={<Undrawn />} value={block}>
          <BlockView block={block} now={now} />
        </Guard>
      ))}
      {!now.running && texts.length > 0 && (
        <div className="tools">
          <CopyButton text={() => texts.join("\n\n")} label="Copy answer" />
          {again && <IconButton icon={RefreshCw} label="Regenerate" onClick={regenerate} />}
        </div>
      )}
    </article>
  );
});

const Undrawn = () => <p className="card unknown muted">This part cannot be shown.</p>;
