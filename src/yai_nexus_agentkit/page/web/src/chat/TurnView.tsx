import { RefreshCw } from "lucide-react";
import { memo } from "react";
import type { ThreadStore } from "../agent/store.ts";
import type { Turn } from "../agent/timeline.ts";
import { CopyButton } from "../ui/CopyButton.tsx";
import { IconButton } from "../ui/IconButton.tsx";
import { BlockView, type Now } from "./Blocks.tsx";
import { UserMessage } from "./UserMessage.tsx";

type Given = {
  turn: Turn;
  store: ThreadStore;
  now: Now;
  busy: boolean;
  /** Whether the answer can be generated again. */
  again: boolean;
};

/** What the user said, or all that the agent did about it. */
export const TurnView = memo(({ turn, store, now, busy, again }: Given) => {
  const [first] = turn.blocks;
  if (first?.kind === "user") {
    return (
      <article aria-label="You">
        <h2 className="sr">You</h2>
        <UserMessage block={first} busy={busy} send={(content, edited) => void store.send(content, edited)} />
      </article>
    );
  }
  const texts = turn.blocks.flatMap((block) => (block.kind === "text" ? [block.message.content ?? ""] : []));
  return (
    <article className="assistant" aria-label="Agent" aria-busy={now.running}>
      <h2 className="sr">Agent</h2>
      {turn.blocks.map((block) => (
        <BlockView key={block.id} block={block} now={now} />
      ))}
      {!now.running && texts.length > 0 && (
        <div className="tools">
          <CopyButton text={() => texts.join("\n\n")} label="Copy answer" />
          {again && <IconButton icon={RefreshCw} label="Regenerate" onClick={() => void store.regenerate()} />}
        </div>
      )}
    </article>
  );
});
