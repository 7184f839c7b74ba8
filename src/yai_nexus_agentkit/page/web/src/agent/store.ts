import type { BaseEvent, Interrupt, Message, ResumeEntry, UserMessage } from "@ag-ui/client";
import { PageAgent } from "./client";

/** A CUSTOM event, shown where it came: behind the message that was the newest then. */
export type Extra = { key: string; after: string | undefined; name: string; value: unknown; subagentRunId?: string };
export type Subagent = { id: string; name: string; parentToolCallId?: string; status: "running" | "done" | "failed" };
export type Logged = { at: number; event: BaseEvent };
export type View = {
  messages: readonly Message[];
  state: unknown;
  extras: readonly Extra[];
  subagents: Readonly<Record<string, Subagent>>;
  interrupts: readonly Interrupt[];
  status: "loading" | "idle" | "running" | "stopping";
  error: string | null;
  notice: string | null;
  streaming: string | null; // id of the message or call that is being written
  events: readonly Logged[];
};
export type ClientTool = { description: string; parameters: object; run: (args: any) => unknown };

const LOG = 5000;
const empty = (status: View["status"]): View => ({
  messages: [],
  state: {},
  extras: [],
  subagents: {},
  interrupts: [],
  status,
  error: null,
  notice: null,
  streaming: null,
  events: [],
});

/** One thread: the official client's reducer, its events, and what the page needs beside it. Framework-free. */
export class ThreadStore {
  readonly agent: PageAgent;
  private view: View;
  private listeners = new Set<() => void>();
  private frame = 0;
  private onEnd: () => void;
  private tools: Record<string, ClientTool>;

  constructor(
    url: string,
    threadId: string,
    known: boolean,
    tools: Record<string, ClientTool>,
    onEnd: () => void,
  ) {
    this.agent = new PageAgent({ url, threadId });
    this.view = empty(known ? "loading" : "idle");
    this.onEnd = onEnd;
    this.tools = tools;
    this.agent.subscribe({ onEvent: ({ event }) => this.note(event) });
    if (known) void this.restore();
  }

  subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  snapshot = () => this.view;
  dispose = () => {
    cancelAnimationFrame(this.frame);
    void this.agent.detachActiveRun();
  };

  /** A new message, or an edited one in the place of `at`. It keeps its id: that is how the server knows what to restart. */
  async send(content: UserMessage["content"], at?: number) {
    const id = at === undefined ? crypto.randomUUID() : this.agent.messages[at]!.id;
    if (at !== undefined) this.agent.setMessages(this.agent.messages.slice(0, at));
    this.agent.addMessage({ id, role: "user", content });
    await this.run();
  }
  async regenerate() {
    const last = this.agent.messages.findLastIndex((message) => message.role === "user");
    this.agent.setMessages(this.agent.messages.slice(0, last + 1));
    await this.run();
  }
  answer = (resume: ResumeEntry[]) => this.run(resume);
  async stop() {
    this.set({ status: "stopping" });
    await this.agent.stop().catch(() => this.agent.abortRun());
  }

  /** A server that keeps no runs for re-attaching tells the thread to a run without messages: history, and what is asked. */
  private async restore() {
    await this.guarded(async () => {
      await this.agent.connectAgent({});
    });
  }

  private async run(resume?: ResumeEntry[]) {
    const tools = Object.entries(this.tools).map(([name, { description, parameters }]) => ({
      name,
      description,
      parameters,
    }));
    await this.guarded(() => this.agent.runAgent(resume ? { tools, resume } : { tools }));
    const pending = this.pending;
    if (!pending.length) return;
    for (const call of pending) {
      const tool = this.tools[call.function.name];
      const content = tool ? String(await tool.run(JSON.parse(call.function.arguments || "{}"))) : "not available";
      this.agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId: call.id, content });
    }
    await this.run();
  }

  private get pending() {
    const answered = new Set(this.agent.messages.flatMap((m) => (m.role === "tool" ? [m.toolCallId] : [])));
    const calls = this.agent.messages.flatMap((m) => (m.role === "assistant" ? (m.toolCalls ?? []) : []));
    return calls.filter((call) => !answered.has(call.id) && call.function.name in this.tools);
  }

  private async guarded(work: () => Promise<unknown>) {
    this.set({ status: "running", error: null, notice: null, interrupts: [], messages: [...this.agent.messages] });
    try {
      await work();
    } catch (error) {
      const detail = (error as { payload?: { detail?: { error_description?: string } } }).payload?.detail;
      if (!this.view.error) this.set({ error: detail?.error_description ?? (error as Error).message });
    }
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.set({ ...this.read(), status: "idle", streaming: null, interrupts: [...this.agent.pendingInterrupts] });
    this.onEnd();
  }

  private read = () => ({ messages: [...this.agent.messages], state: this.agent.state as unknown });

  /** Every event: logged, then what the client's reducer does not keep. Drawing waits for the next frame. */
  private note(event: BaseEvent & Record<string, any>) {
    const { view } = this;
    view.events = [...view.events.slice(-LOG), { at: performance.now(), event }];
    switch (event.type as string) {
      case "CUSTOM": {
        const last = this.agent.messages.at(-1)?.id;
        view.extras = [
          ...view.extras,
          {
            key: `x${view.events.length}`,
            after: last,
            name: event.name,
            value: event.value,
            subagentRunId: event.subagentRunId,
          },
        ];
        break;
      }
      case "SUBAGENT_STARTED":
        view.subagents = {
          ...view.subagents,
          [event.subagentRunId]: {
            id: event.subagentRunId,
            name: event.name ?? "subagent",
            parentToolCallId: event.parentToolCallId,
            status: "running",
          },
        };
        break;
      case "SUBAGENT_FINISHED":
      case "SUBAGENT_ERROR": {
        const known = view.subagents[event.subagentRunId];
        if (known)
          view.subagents = {
            ...view.subagents,
            [known.id]: { ...known, status: event.type === "SUBAGENT_ERROR" ? "failed" : "done" },
          };
        break;
      }
      case "TEXT_MESSAGE_START":
      case "REASONING_MESSAGE_START":
        view.streaming = event.messageId;
        break;
      case "TOOL_CALL_START":
        view.streaming = event.toolCallId;
        break;
      case "TEXT_MESSAGE_END":
      case "REASONING_MESSAGE_END":
      case "TOOL_CALL_END":
        view.streaming = null;
        break;
      case "RUN_ERROR":
        view.error = event.code === "abort" ? null : event.message;
        break;
      case "RUN_FINISHED":
        if (event.outcome?.type === "cancelled") view.notice = "Stopped.";
        break;
    }
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.set(this.read());
    });
  }

  private set(change: Partial<View>) {
    this.view = { ...this.view, ...change };
    for (const listener of this.listeners) listener();
  }
}
