import type { ToolMessage } from "@ag-ui/client";
import { Bot, Check, ChevronRight, CircleAlert, CircleHelp, Minus } from "lucide-react";
import { type ReactNode, useState } from "react";
import { brief, listOf, objectOf, parsed, pretty } from "../agent/json.ts";
import type { CallBlock, SubagentBlock } from "../agent/timeline.ts";
import { BlockView, type Now } from "./Blocks.tsx";
import { PartView } from "./parts.tsx";

type Status = "running" | "done" | "failed" | "waiting" | "none";

const WORDS: Record<Status, string> = {
  running: "running",
  done: "done",
  failed: "failed",
  waiting: "waits for you",
  none: "no result",
};

/** A tool call: one line, with arguments, output and result to be opened. Progress and subagents are in sight. */
export function ToolCard({ block, now }: { block: CallBlock; now: Now }) {
  const { call, result, inner } = block;
  const status = statusOf(block, now);
  const output = inner.filter((one) => one.kind === "activity" && one.message.activityType === "tool_output");
  const others = inner.filter((one) => !output.includes(one));
  const args = call.function.arguments;
  const summary = Object.values(objectOf(parsed(args)))
    .map(brief)
    .join(", ");
  return (
    <>
      <Folded
        status={status}
        title={call.function.name}
        summary={summary}
        open={status === "running" && output.length > 0}
      >
        {args && args !== "{}" && (
          <>
            <p className="label">Arguments</p>
            <Data text={args} />
          </>
        )}
        {!result && output.map((one) => <BlockView key={one.id} block={one} now={now} />)}
        {result && <Result result={result} failed={status === "failed"} />}
      </Folded>
      {others.map((one) => (
        <div key={one.id} className="inner">
          <BlockView block={one} now={now} />
        </div>
      ))}
    </>
  );
}

/** Formatted when it is opened: results may be large. */
const Data = ({ text, failed = false }: { text: string; failed?: boolean }) => (
  <pre tabIndex={0} className={failed ? "wrong" : undefined}>
    {pretty(text)}
  </pre>
);

function statusOf({ id, result }: CallBlock, { running, asked }: Now): Status {
  if (!result) return asked.includes(id) ? "waiting" : running ? "running" : "none";
  const { status } = objectOf(objectOf(result.metadata).langgraph);
  if (status === "dropped") return "none";
  return result.error || status === "error" ? "failed" : "done";
}

function Result({ result, failed }: { result: ToolMessage; failed: boolean }) {
  const { content } = result;
  return (
    <>
      <p className="label">Result</p>
      {typeof content === "string" ? (
        <Data text={content || result.error || ""} failed={failed} />
      ) : (
        listOf(content).map((part, n) => <PartView key={n} part={objectOf(part)} />)
      )}
    </>
  );
}

/** What another agent did for this one. It is open while it works. */
export function SubagentCard({ block, now }: { block: SubagentBlock; now: Now }) {
  const { subagent, inner } = block;
  const live = subagent.status === "running" && now.running;
  const status: Status = subagent.status === "running" ? (live ? "running" : "none") : subagent.status;
  return (
    <Folded status={status} title={subagent.name} icon={<Bot size={16} aria-hidden />} summary="subagent" open={live}>
      {inner.map((one) => (
        <BlockView key={one.id} block={one} now={now} />
      ))}
      {subagent.error && <p className="wrong">{subagent.error}</p>}
    </Folded>
  );
}

type FoldedGiven = {
  status: Status;
  title: string;
  summary: string;
  icon?: ReactNode;
  open: boolean;
  children: ReactNode;
};

/** Failures open by themselves, as does what `open` says, until the user decides otherwise. */
function Folded({ status, title, summary, icon, open, children }: FoldedGiven) {
  const [chosen, setChosen] = useState<boolean>();
  const shown = chosen ?? (open || status === "failed");
  return (
    <details className={`card tool ${status}`} open={shown}>
      <summary
        onClick={(event) => {
          event.preventDefault();
          setChosen(!shown);
        }}
      >
        <Sign status={status} />
        {icon}
        <strong>{title}</strong>
        <span className="muted cut">{summary}</span>
        <span className={status === "waiting" || status === "none" ? "muted" : "sr"}>{WORDS[status]}</span>
        <ChevronRight size={14} aria-hidden />
      </summary>
      {shown && <div className="inside">{children}</div>}
    </details>
  );
}

function Sign({ status }: { status: Status }) {
  if (status === "running") return <span className="spinner" aria-hidden />;
  const Icon = { done: Check, failed: CircleAlert, waiting: CircleHelp, none: Minus }[status];
  return <Icon className="sign" size={16} aria-hidden />;
}
