import { memo, Suspense, useEffect, useState } from "react";
import type { Block, Call } from "../agent/timeline";
import { Icon } from "../ui/icons";
import { Markdown } from "../ui/Markdown";
import { rendererOf } from "../widgets/registry";

const pretty = (text: string) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};
const brief = (text: string) => {
  try {
    return Object.values(JSON.parse(text)).map(String).join(", ");
  } catch {
    return "";
  }
};
const textOf = (content: unknown) => (typeof content === "string" ? content : JSON.stringify(content));

export const Reasoning = memo(({ text, live }: { text: string; live: boolean }) => {
  const [open, setOpen] = useState(false),
    [begun] = useState(() => performance.now()),
    [took, setTook] = useState(0);
  useEffect(() => {
    if (!live) setTook((performance.now() - begun) / 1000);
  }, [live, begun]);
  return (
    <details className="reasoning" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="brain" size={14} />
        <span className={live ? "shimmer" : undefined}>
          {live ? "Thinking…" : took > 1 ? `Thought for ${Math.round(took)} s` : "Thought"}
        </span>
        <Icon name="chevron" size={14} />
      </summary>
      <Markdown text={text} streaming={live} />
    </details>
  );
});

function ToolCard({
  call: { call, result, subagent, inner },
  streaming,
  running,
  asked,
}: {
  call: Call;
  streaming: string | null;
  running: boolean;
  asked: boolean;
}) {
  const failed = !!(result as any)?.error || /^error\b/i.test(textOf(result?.content ?? ""));
  const status = result ? (failed ? "failed" : "done") : asked ? "waiting" : running ? "running" : "none";
  const words = { failed: "failed", done: "done", waiting: "waits for you", running: "running", none: "no result" };
  return (
    <details
      className={`card tool ${status}`}
      open={status === "failed" || (!!subagent && status === "running") || undefined}
    >
      <summary>
        <span className="status" aria-hidden="true">
          {status === "done" ? (
            <Icon name="check" size={14} />
          ) : status === "failed" ? (
            <Icon name="alert" size={14} />
          ) : status === "running" ? (
            <span className="spinner" />
          ) : (
            <Icon name="question" size={14} />
          )}
        </span>
        {subagent ? (
          <>
            <Icon name="bot" /> <strong>{subagent.name}</strong>
          </>
        ) : (
          <strong>{call.function.name}</strong>
        )}
        <span className="muted brief">{brief(call.function.arguments)}</span>
        <span className="sr">, {words[status]}</span>
        <Icon name="chevron" size={14} />
      </summary>
      <div className="inside">
        {inner.length > 0 && (
          <div className="inner" aria-label={`Work of ${subagent?.name ?? "the subagent"}`}>
            {inner.map((block) => (
              <BlockView key={block.id} block={block} streaming={streaming} running={running} asked={false} />
            ))}
          </div>
        )}
        <p className="label">Arguments</p>
        <pre tabIndex={0}>{pretty(call.function.arguments || "{}")}</pre>
        {result && (
          <>
            <p className="label">Result</p>
            <pre tabIndex={0} className={failed ? "wrong" : undefined}>
              {pretty(textOf(result.content))}
            </pre>
          </>
        )}
      </div>
    </details>
  );
}

export function BlockView({
  block,
  streaming,
  running,
  asked,
}: {
  block: Block;
  streaming: string | null;
  running: boolean;
  asked: boolean;
}) {
  switch (block.kind) {
    case "text":
      return <Markdown text={block.message.content ?? ""} streaming={streaming === block.id} />;
    case "reasoning":
      return <Reasoning text={block.message.content} live={streaming === block.id} />;
    case "call":
      return <ToolCard call={block.call} streaming={streaming} running={running} asked={asked} />;
    case "activity": {
      const View = rendererOf("activity", block.message.activityType, block.message.content);
      return (
        <Suspense fallback={null}>
          <View name={block.message.activityType} value={block.message.content} />
        </Suspense>
      );
    }
    case "extra": {
      const View = rendererOf("custom", block.extra.name, block.extra.value);
      return (
        <Suspense fallback={<div className="card chart placeholder" />}>
          <View name={block.extra.name} value={block.extra.value} />
        </Suspense>
      );
    }
    default:
      return null;
  }
}
