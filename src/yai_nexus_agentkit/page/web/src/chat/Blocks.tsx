import { memo, Suspense } from "react";
import type { Block } from "../agent/timeline.ts";
import { Guard } from "../ui/Guard.tsx";
import { Markdown } from "../ui/Markdown.tsx";
import { activities, events, type Renderer, rendererOf, type Shown } from "../widgets/registry.tsx";
import { Unknown } from "../widgets/Unknown.tsx";
import { Reasoning } from "./Reasoning.tsx";
import { SubagentCard, ToolCard } from "./ToolCard.tsx";

/** What is going on in the turn that is drawn. */
export type Now = {
  /** Ids of what is being written. */
  streaming: readonly string[];
  running: boolean;
  /** Ids of the calls that wait for the user. */
  asked: readonly string[];
};

export const BlockView = memo(({ block, now }: { block: Block; now: Now }) => {
  const live = now.streaming.includes(block.id);
  switch (block.kind) {
    case "text":
      return <Markdown text={block.message.content ?? ""} streaming={live} />;
    case "reasoning":
      return <Reasoning text={block.message.content} live={live} />;
    case "call":
      return <ToolCard block={block} now={now} />;
    case "subagent":
      return <SubagentCard block={block} now={now} />;
    case "activity":
      return (
        <Widget
          known={activities}
          name={block.message.activityType}
          value={block.message.content}
          running={now.running}
        />
      );
    case "extra":
      return <Widget known={events} name={block.extra.name} value={block.extra.value} running={now.running} />;
    case "user":
      return null;
  }
});

/** A renderer may be anybody's code. */
function Widget({ known, name, value, running }: Shown & { known: Record<string, Renderer> }) {
  const View = rendererOf(known, name, value);
  return (
    <Guard fallback={<Unknown name={name} value={value} />} value={value}>
      <Suspense fallback={<div className="card loading" role="status" aria-label={`${name} is loading`} />}>
        <View name={name} value={value} running={running} />
      </Suspense>
    </Guard>
  );
}
