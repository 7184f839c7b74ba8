import type { AGUIEvent, Interrupt, Message, ResumeEntry, UserMessage } from "@ag-ui/client";
import type { AgentInfo } from "../config.ts";
import { PageAgent } from "./client.ts";
import { type Failure, failureOf } from "./failure.ts";
import { newId } from "./ids.ts";
import { objectOf, parsed } from "./json.ts";
import { type Notes, noted, nothing } from "./notes.ts";
import { share } from "./share.ts";
import { pageTools } from "./tools.ts";

export type Content = UserMessage["content"];
export type Logged = { at: number; event: AGUIEvent };

/** What went wrong. `retry`: by running again, or by looking what became of the run; null if there are questions. */
export type Trouble = { message: string; code: string | undefined; retry: "run" | "join" | null };

export type View = Notes & {
  messages: readonly Message[];
  state: unknown;
  interrupts: readonly Interrupt[];
  status: "loading" | "idle" | "running" | "stopping" | "reconnecting";
  trouble: Trouble | null;
  notice: string | null;
  /** Grows with every event, so that the list of events is drawn again. */
  received: number;
  /** A message that was not sent. It goes back into the box. */
  returned: Content | null;
  /** The last answers, for the case that the server refused them. */
  given: Readonly<Record<string, ResumeEntry>>;
};

export type Watcher = { started: () => void; ended: () => void };

const LOGGED = 5000;
const WAITS = [500, 1500, 4000, 8000];
/** A connection that is open for longer shows a run under way. */
const JOINED_AFTER = 600;
const WORK = /^(STEP|TEXT|TOOL|REASONING)_/;

const empty: View = {
  ...nothing,
  messages: [],
  state: undefined,
  interrupts: [],
  status: "idle",
  trouble: null,
  notice: null,
  received: 0,
  returned: null,
  given: {},
};

/** One thread: the official client's messages and state, and what the page needs beside them. */
export class ThreadStore {
  /** The newest events, oldest first. */
  readonly log: Logged[] = [];
  private agent: PageAgent;
  private readonly info: AgentInfo;
  private readonly watcher: Watcher;
  private view: View = empty;
  private readonly listeners = new Set<() => void>();
  private frame = 0;
  /** Counts connections: what an older one reports is no longer of interest. */
  private turn = 0;

  constructor(info: AgentInfo, threadId: string, watcher: Watcher) {
    this.info = info;
    this.watcher = watcher;
    this.agent = this.opened(threadId);
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  snapshot = (): View => this.view;

  /** The run goes on without this page, if the server lets it. */
  dispose(): void {
    this.turn++;
    cancelAnimationFrame(this.frame);
    this.agent.abortController.abort();
  }

  /** A new message, or an edited one in the place of `edited`. It keeps its id: so the server knows where to restart. */
  async send(content: Content, edited?: string): Promise<void> {
    const id = edited ?? newId();
    const at = this.agent.messages.findIndex((message) => message.id === id);
    if (at >= 0) this.agent.setMessages(this.agent.messages.slice(0, at));
    // What was asked after that message is no longer of interest. The client would insist on answers.
    this.agent.pendingInterrupts = [];
    this.agent.addMessage({ id, role: "user", content });
    await this.run(undefined, edited ? undefined : content);
  }

  /** Another answer to the newest message of the user. */
  async regenerate(): Promise<void> {
    const last = this.agent.messages.findLastIndex(({ role }) => role === "user");
    this.agent.setMessages(this.agent.messages.slice(0, last + 1));
    await this.run();
  }

  async answer(resume: ResumeEntry[]): Promise<void> {
    this.view = { ...this.view, given: Object.fromEntries(resume.map((entry) => [entry.interruptId, entry])) };
    await this.run(resume);
  }

  async stop(): Promise<void> {
    this.set({ status: "stopping" });
    await this.agent.stop().catch(() => this.agent.abortRun());
  }

  /** Show the thread as the server has it, and the run that is under way. */
  async join(notice: string | null = null): Promise<void> {
    this.renew();
    const waited = setTimeout(() => this.view.status === "loading" && this.set({ status: "running" }), JOINED_AFTER);
    await this.follow("loading", () => this.agent.connectAgent({}), "join");
    clearTimeout(waited);
    if (notice && !this.view.trouble) this.set({ notice });
  }

  retry(): Promise<void> {
    return this.view.trouble?.retry === "run" ? this.regenerate() : this.join();
  }

  private async run(resume?: ResumeEntry[], content?: Content): Promise<void> {
    const tools = Object.entries(pageTools).map(([name, tool]) => {
      return { name, description: tool.description, parameters: tool.parameters };
    });
    const failure = await this.follow(
      "running",
      () => this.agent.runAgent(resume ? { tools, resume } : { tools }),
      "run",
    );
    if (failure?.code === "THREAD_BUSY" || failure?.code === "ALREADY_ANSWERED")
      return this.overtaken(failure, content);
    if (!failure && this.view.status === "idle" && !this.view.trouble && (await this.runTools())) await this.run();
  }

  /** Another page was faster. Show its run, and keep what was written here. */
  private async overtaken(failure: Failure, content?: Content): Promise<void> {
    const answered = failure.code === "ALREADY_ANSWERED";
    this.set({ returned: content ?? null });
    await this.join(answered ? "This was answered in another window." : "Another window was faster. Send it again.");
  }

  /** Returns whether a call of the page's tools was open. */
  private async runTools(): Promise<boolean> {
    const { messages } = this.agent;
    const answered = new Set(messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : [])));
    const calls = messages
      .slice(messages.findLastIndex(({ role }) => role === "user"))
      .flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
      .filter((call) => !answered.has(call.id) && call.function.name in pageTools);
    for (const { id, function: called } of calls) {
      const result = { id: newId(), role: "tool" as const, toolCallId: id };
      try {
        const value = await pageTools[called.name]?.run(objectOf(parsed(called.arguments)));
        this.agent.addMessage({
          ...result,
          content: typeof value === "string" ? value : JSON.stringify(value ?? null),
        });
      } catch (error) {
        this.agent.addMessage({ ...result, content: "", error: String(error) });
      }
    }
    return calls.length > 0;
  }

  /** Draw a connection until it ends. Returns why the server refused it, or undefined. */
  private async follow(
    status: View["status"],
    work: () => Promise<unknown>,
    retry: "run" | "join",
  ): Promise<Failure | undefined> {
    const turn = ++this.turn;
    const fresh = { phase: "none", error: null, cancelled: false, streaming: [] } as const;
    this.set({ ...fresh, ...this.read(), status, trouble: null, notice: null, interrupts: [] });
    const failure = await work().then(() => undefined, failureOf);
    if (turn !== this.turn) return undefined;
    const cut = this.view.phase === "open" && this.view.status !== "stopping";
    if (cut) await this.reconnect(turn);
    else this.settle(failure, retry);
    return failure;
  }

  private async reconnect(turn: number): Promise<void> {
    for (const wait of WAITS) {
      this.set({ status: "reconnecting" });
      await new Promise((done) => setTimeout(done, wait));
      if (turn !== this.turn) return;
      this.renew();
      const failure = await this.agent.connectAgent({}).then(() => undefined, failureOf);
      if (turn !== this.turn) return;
      if (this.view.phase === "ended" || failure?.status !== undefined) return this.settle(failure, "join");
    }
    this.settle({ message: "The connection was lost.", code: undefined, status: undefined }, "join");
  }

  private settle(failure: Failure | undefined, retry: "run" | "join"): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const stopped = this.view.cancelled || this.view.status === "stopping";
    const interrupts = [...this.agent.pendingInterrupts];
    const error = stopped ? undefined : (this.view.error ?? failure);
    // An answer that failed may be given again: the questions are still open.
    const trouble = error && { ...this.inWords(error), retry: interrupts.length > 0 ? null : retry };
    const notice = stopped ? "Stopped." : null;
    this.set({ ...this.read(), status: "idle", streaming: [], interrupts, trouble: trouble ?? null, notice });
    this.watcher.ended();
  }

  /** Some graphs cannot go on without an answer; their refusal lists what a form would have asked for. */
  private inWords({ message, code }: Omit<Trouble, "retry">): Omit<Trouble, "retry"> {
    const left = Object.values(this.view.given).some(({ status }) => status === "cancelled");
    return { message: left && code === "INVALID_RESUME" ? "The agent cannot go on without an answer." : message, code };
  }

  /** An agent object with an open question cannot connect again: go on with a new one. */
  private renew(): void {
    const { threadId, messages, state } = this.agent;
    this.agent.abortController.abort();
    this.agent = this.opened(threadId);
    this.agent.setMessages([...messages]);
    this.agent.setState(state);
  }

  private opened(threadId: string): PageAgent {
    const agent = new PageAgent(this.info, threadId);
    agent.subscribe({
      onEvent: ({ event }) => {
        if (this.agent === agent) this.note(event as AGUIEvent);
      },
    });
    return agent;
  }

  private read(): Pick<View, "messages" | "state"> {
    const { messages, state } = this.agent;
    return share({ messages: this.view.messages, state: this.view.state }, { messages: [...messages], state });
  }

  /** Every event. Drawing waits for the next frame. */
  private note(event: AGUIEvent): void {
    this.log.push({ at: performance.now(), event });
    if (this.log.length > 2 * LOGGED) this.log.splice(0, LOGGED);
    const { messages } = this.agent;
    const turn = messages.findLast(({ role }) => role === "user")?.id;
    this.view = {
      ...this.view,
      ...noted(this.view, event, messages.at(-1)?.id, turn),
      received: this.view.received + 1,
    };
    if (event.type === "RUN_STARTED" && this.view.status === "running") this.watcher.started();
    if (WORK.test(event.type) && ["loading", "reconnecting"].includes(this.view.status))
      this.set({ status: "running" });
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.set(this.read());
    });
  }

  private set(change: Partial<View>): void {
    this.view = { ...this.view, ...change };
    for (const listener of this.listeners) listener();
  }
}
