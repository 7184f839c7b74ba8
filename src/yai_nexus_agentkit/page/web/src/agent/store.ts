import { type AGUIEvent, isInterruptExpired, type ResumeEntry, type ToolCall, type UserMessage } from "@ag-ui/client";
import type { AgentInfo } from "../config.ts";
import { PageAgent } from "./client.ts";
import { type Failure, failureOf } from "./failure.ts";
import { addressOf, newId } from "./ids.ts";
import { objectOf, parsed } from "./json.ts";
import { Kept } from "./kept.ts";
import { noted } from "./notes.ts";
import { share } from "./share.ts";
import { pageTools, resultOf, type ToolResult } from "./tools.ts";
import { type Content, empty, type Trouble, type View } from "./view.ts";

export type Logged = { at: number; event: AGUIEvent };

/** `started`: a run that was sent from here has begun. `ended`: nothing goes on any more. */
export type Watcher = { started: () => void; ended: () => void };

const LOGGED = 5000;
const WAITS = [500, 1500, 4000, 8000];
/** A connection that is open for longer shows a run that goes on. */
const JOINED_AFTER = 600;
const LOST = "The connection was lost.";
const UNSENT = "The message did not reach the server.";
const UNGIVEN = "The answer did not reach the server.";
const NOTHING = "The server has nothing of this conversation any more.";
const INVALID = "INVALID_RESUME";
const UNANSWERED = "A tool of this page gave no result.";
const WORK = /^(STEP|TEXT|TOOL|REASONING)_/;

/** One thread: the official client's messages and state, and what the page needs beside them. */
export class ThreadStore {
  /** The newest events, oldest first. */
  readonly log: Logged[] = [];
  private agent: PageAgent;
  private readonly info: AgentInfo;
  private readonly watcher: Watcher;
  /** The user's message that has not begun a run yet. After a reload it can be sent again. */
  private readonly unsent: Kept<UserMessage>;
  private view: View = empty;
  private readonly listeners = new Set<() => void>();
  private frame = 0;
  /** Counts connections: what an older one reports is no longer of interest. */
  private connection = 0;
  /** Whether the newest run was sent from here, or only joined. */
  private mine = false;
  /** Another window has begun a run since this one is busy. */
  private behind = false;
  /** The user's answers that have not begun a run yet. */
  private ungiven: readonly ResumeEntry[] = [];
  /** Results of the page's tools that have not begun a run yet, by call: no tool runs twice for the same call. */
  private readonly results = new Map<string, ToolResult>();

  constructor(info: AgentInfo, threadId: string, watcher: Watcher) {
    this.info = info;
    this.watcher = watcher;
    this.agent = this.opened(threadId);
    this.unsent = new Kept(`${addressOf(info.name, threadId)} unsent`);
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  snapshot = (): View => this.view;

  /** The run goes on without this page, if the server lets it. */
  dispose(): void {
    this.connection++;
    cancelAnimationFrame(this.frame);
    this.agent.abortController.abort();
  }

  /** A new message, or an edited one in the place of `edited`. It keeps its id: so the server knows where to restart. */
  async send(content: Content, edited?: string): Promise<void> {
    const message: UserMessage = { id: edited ?? newId(), role: "user", content };
    this.unsent.value = message;
    this.place(message);
    this.ungiven = [];
    // What was asked after that message is no longer of interest. The client would insist on answers.
    this.agent.pendingInterrupts = [];
    await this.run();
  }

  /** Another answer to the newest message of the user. */
  async regenerate(): Promise<void> {
    const last = this.agent.messages.findLastIndex(({ role }) => role === "user");
    this.agent.setMessages(this.agent.messages.slice(0, last + 1));
    await this.run();
  }

  async answer(resume: ResumeEntry[]): Promise<void> {
    this.ungiven = resume;
    this.view = { ...this.view, given: Object.fromEntries(resume.map((entry) => [entry.interruptId, entry])) };
    await this.run(resume);
  }

  /** Before the run began, and while the connection is lost, this is done again with the run's first event. */
  async stop(): Promise<void> {
    const { connection } = this;
    if (this.view.status === "tools") return this.halt();
    this.set({ status: "stopping", trouble: null });
    const failure = await this.agent.stop().then(() => undefined, failureOf);
    const goesOn = connection === this.connection && this.view.status === "stopping" && this.view.phase === "open";
    // The server knows nothing of a thread whose run has just ended.
    if (!failure || failure.status === 404 || !goesOn) return;
    const message = `The agent was not stopped. ${failure.message}`;
    this.set({ status: "running", trouble: { message, code: failure.code, retry: null } });
  }

  /** Show the thread as the server has it, and the run that is active. */
  async join(notice: string | null = null): Promise<void> {
    this.renew();
    this.mine = false;
    const waited = setTimeout(() => this.view.status === "loading" && this.set({ status: "running" }), JOINED_AFTER);
    await this.follow("loading", () => this.agent.connectAgent({}));
    clearTimeout(waited);
    const { phase, trouble, messages } = this.view;
    const none = phase === "none" && messages.length > 0 ? NOTHING : null;
    if (!trouble && (notice ?? none)) this.set({ notice: notice ?? none });
  }

  /** Another window has begun a run: show it, as soon as the own one is over. */
  async follows(): Promise<void> {
    this.behind = this.view.status !== "idle";
    if (!this.behind) await this.join();
  }

  async retry(): Promise<void> {
    const retry = this.view.trouble?.retry;
    if (retry === "tools") return this.runTools();
    if (retry === "answer") return this.run([...this.ungiven]);
    if (retry === "run") return this.regenerate();
    await this.join();
    // What the server turns out not to have is sent: the user asked for that, not for a look.
    if (this.isUngiven() || (this.unsent.value && this.view.trouble?.retry === "run")) await this.retry();
  }

  private async run(resume?: ResumeEntry[]): Promise<void> {
    const tools = Object.entries(pageTools).map(([name, { description, parameters }]) => ({ name, description, parameters }));
    const onRunStartedEvent = () => {
      this.unsent.value = null;
      this.ungiven = [];
      this.results.clear();
      this.watcher.started();
    };
    this.mine = true;
    const work = () => this.agent.runAgent(resume ? { tools, resume } : { tools }, { onRunStartedEvent });
    const failure = await this.follow("running", work);
    if (failure?.code === "THREAD_BUSY" || failure?.code === "ALREADY_ANSWERED") await this.overtaken(failure);
    const isRefused = failure?.code === INVALID || (failure?.status === 413 && this.unsent.value);
    if (failure && isRefused) await this.refused(failure);
  }

  /** A message that is too large would make all that follow too large. A question may be gone with its thread. */
  private async refused(failure: Failure): Promise<void> {
    this.takeBack();
    await this.join();
    const asked = failure.code !== INVALID || this.view.interrupts.length > 0;
    if (asked) this.set({ trouble: { ...this.inWords(failure), retry: null } });
  }

  /** Another page was faster. Show its run, and keep what was written here. */
  private async overtaken(failure: Failure): Promise<void> {
    const answered = failure.code === "ALREADY_ANSWERED";
    this.takeBack();
    this.ungiven = [];
    await this.join(answered ? "This was answered in another window." : "Another window was faster. Send it again.");
  }

  /** The message goes back into the box. */
  private takeBack(): void {
    const unsent = this.unsent.value;
    if (!unsent) return;
    this.set({ returned: { content: unsent.content } });
    this.agent.setMessages(this.agent.messages.filter(({ id }) => id !== unsent.id));
    this.unsent.value = null;
  }

  /** The calls of the page's tools that have no result yet. */
  private openCalls(): ToolCall[] {
    const { messages } = this.agent;
    const answered = new Set(messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : [])));
    return messages
      .slice(messages.findLastIndex(({ role }) => role === "user"))
      .flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
      .filter((call) => !answered.has(call.id) && call.function.name in pageTools);
  }

  /** Run the page's tools, and the agent with their results. */
  private async runTools(): Promise<void> {
    const connection = ++this.connection;
    this.set({ status: "tools", trouble: null, notice: null });
    for (const { id, function: called } of this.openCalls()) {
      const result = this.results.get(id) ?? (await resultOf(called.name, objectOf(parsed(called.arguments))));
      if (connection !== this.connection) return;
      this.results.set(id, result);
      this.agent.addMessage({ id: newId(), role: "tool", toolCallId: id, ...result });
      this.set(this.read());
    }
    await this.run();
  }

  /** The tools of the page go on, but nobody waits for them. */
  private halt(): void {
    this.connection++;
    this.set({ stopped: true });
    this.settle(undefined);
  }

  /** Draw a connection until it ends. Returns why the server refused it, or how its run failed, or undefined. */
  private async follow(status: View["status"], work: () => Promise<unknown>): Promise<Failure | undefined> {
    const connection = ++this.connection;
    const fresh = { phase: "none", error: null, stopped: false, streaming: [] } as const;
    this.set({ ...fresh, ...this.read(), status, trouble: null, notice: null, interrupts: [] });
    const failure = await work().then(() => undefined, failureOf);
    if (connection !== this.connection) return undefined;
    // A request that failed without an answer may have come through: the server knows.
    const lost = this.mine && failure !== undefined && failure.status === undefined && this.view.phase === "none";
    if (lost || this.view.phase === "open") await this.reconnect(connection);
    else this.settle(failure);
    const { error } = this.view;
    if (this.view.status === "tools" && connection === this.connection) await this.runTools();
    return failure ?? (error ? { ...error, status: undefined } : undefined);
  }

  private async reconnect(connection: number): Promise<void> {
    for (const wait of WAITS) {
      this.set({ phase: "none", streaming: [], status: this.isStopping() ? "stopping" : "reconnecting" });
      await new Promise((done) => setTimeout(done, wait));
      if (connection !== this.connection) return;
      this.renew();
      const failure = await this.agent.connectAgent({}).then(() => undefined, failureOf);
      if (connection !== this.connection) return;
      const { phase } = this.view;
      // A proxy answers for a server that is being restarted.
      const refused = failure?.status !== undefined && failure.status < 500;
      if (phase === "ended" || refused) return this.settle(failure, "join");
      // The answer for a thread that the server does not have is empty: the message never came, or nothing is stored.
      if (phase === "none" && !failure) return this.settle(this.unsent.value ? undefined : this.lost(), "join");
    }
    this.settle(this.lost(), "join");
  }

  private lost(): Failure {
    const message = this.isStopping() ? `${LOST} The agent was not stopped.` : LOST;
    return { message, code: undefined, status: undefined };
  }

  private isStopping = (): boolean => this.view.status === "stopping";

  private settle(failure: Failure | undefined, retry: "run" | "join" = this.mine ? "run" : "join"): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const interrupts = [...this.agent.pendingInterrupts];
    const trouble = this.troubleOf(failure, interrupts.length > 0 ? null : retry);
    const stopped = this.view.stopped && !trouble;
    const tools = !trouble && !stopped && interrupts.length === 0 && this.openCalls().length > 0;
    const status = tools ? "tools" : "idle";
    this.set({ ...this.read(), status, streaming: [], stopped, interrupts, trouble });
    if (tools) return;
    this.watcher.ended();
    if (this.behind) void this.follows();
  }

  /** `retry` is null if questions are open: an answer that failed may be given again. */
  private troubleOf(failure: Failure | undefined, retry: "run" | "join" | null): Trouble | null {
    if (!failure && this.isMissing()) return { message: UNSENT, code: undefined, retry: "run" };
    if (this.view.stopped) return null;
    // A run that failed fails for those who look again, too.
    if (this.view.error) return { ...this.inWords(this.view.error), retry: retry && "run" };
    if (!failure && this.isUngiven()) return { message: UNGIVEN, code: undefined, retry: "answer" };
    if (failure) return { ...this.inWords(failure), retry };
    // Another window may be about to answer, so only the user can say that it shall be done here.
    const open = !this.mine && retry && this.openCalls().length > 0;
    return open ? { message: UNANSWERED, code: undefined, retry: "tools" } : null;
  }

  /** Whether the thread, as the server has it now, lacks the user's message. It is put back there. */
  private isMissing(): boolean {
    const message = this.unsent.value;
    if (!message) return false;
    const known = this.agent.messages.find(({ id }) => id === message.id);
    // An edited message has the id of the one before. The server may have files in another form.
    const same = known && (typeof message.content !== "string" || known.content === message.content);
    if (same && this.view.phase === "ended") this.unsent.value = null;
    else this.place(message);
    return this.unsent.value !== null;
  }

  /** Whether the thread, as the server has it now, waits for just the answers that were given here. */
  private isUngiven(): boolean {
    const open = this.agent.pendingInterrupts;
    const ids = new Set(this.ungiven.map(({ interruptId }) => interruptId));
    return ids.size > 0 && open.length === ids.size && open.every((one) => ids.has(one.id) && !isInterruptExpired(one));
  }

  /** Let it be the newest message: what is behind an older one with its id is gone. */
  private place(message: UserMessage): void {
    const { messages } = this.agent;
    const at = messages.findIndex(({ id }) => id === message.id);
    this.agent.setMessages([...(at < 0 ? messages : messages.slice(0, at)), message]);
  }

  /** Some graphs cannot go on without an answer; their refusal lists what a form would have asked for. */
  private inWords({ message, code }: Omit<Trouble, "retry">): Omit<Trouble, "retry"> {
    const left = Object.values(this.view.given).some(({ status }) => status === "cancelled");
    return { message: left && code === INVALID ? "The agent cannot go on without an answer." : message, code };
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
    if (event.type === "RUN_STARTED" && this.view.status === "stopping") void this.stop();
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
