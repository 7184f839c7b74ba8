import { HttpAgent, type RunAgentInput } from "@ag-ui/client";
import type { AgentInfo } from "../config.ts";
import { failureOf } from "./failure.ts";
import { objectOf } from "./json.ts";

/** The official client, with what the server can do beyond the protocol: join an active run, and stop it. */
export class PageAgent extends HttpAgent {
  private readonly info: AgentInfo;

  constructor(info: AgentInfo, threadId: string) {
    super({ url: info.run ?? info.url, threadId, fetch: fetched });
    this.info = info;
  }

  /** What `connectAgent()` reads: the active run, from its beginning, or the thread as it is stored. */
  protected override connect(input: RunAgentInput) {
    const there = new HttpAgent({ url: `${this.info.url}/connect`, headers: this.headers, fetch: fetched });
    this.abortController = new AbortController();
    there.abortController = this.abortController;
    return there.run(input);
  }

  async stop(): Promise<void> {
    await request("POST", `${threadUrl(this.info.url, this.threadId)}/cancel`);
  }
}

/**
 * As `fetch`. When a connection breaks, the client gets the error from reading, and reports it. Then it cancels the
 * reader, which fails with the same error once more, where nobody can catch it.
 */
async function fetched(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const { body } = response;
  if (!body) return response;
  const open = body.getReader.bind(body) as () => ReadableStreamDefaultReader<Uint8Array>;
  const getReader = () => {
    const reader = open();
    const cancel = reader.cancel.bind(reader);
    return Object.assign(reader, { cancel: (reason?: unknown) => cancel(reason).catch(() => undefined) });
  };
  Object.assign(body, { getReader });
  return response;
}

export type ThreadInfo = {
  threadId: string;
  title: string;
  status: "idle" | "running" | "paused" | "failed";
  updatedAt: string;
};

/** How many threads a request lists. */
export const PAGE_SIZE = 50;

/** The user's threads, last used first: those behind `last`, if it is given. */
export async function listThreads(url: string, search: string, last?: ThreadInfo): Promise<ThreadInfo[]> {
  const query = new URLSearchParams({ limit: String(PAGE_SIZE) });
  if (search) query.set("search", search);
  if (last) {
    query.set("before", last.updatedAt);
    query.set("beforeId", last.threadId);
  }
  const response = await request("GET", `${url}/threads?${query}`);
  return (await response.json()) as ThreadInfo[];
}

/** Whether the agent stores conversations. If the server does not say, it does. */
export async function keepsThreads(url: string): Promise<boolean> {
  const response = await request("GET", `${url}/capabilities`);
  return objectOf(objectOf(await response.json()).custom).threads !== false;
}

export const deleteThread = (url: string, id: string) => request("DELETE", threadUrl(url, id));

export const renameThread = (url: string, id: string, title: string) => request("PATCH", threadUrl(url, id), { title });

const threadUrl = (url: string, id: string) => `${url}/threads/${encodeURIComponent(id)}`;

/** The server, or what is behind it, is not there. It may be back in a moment. */
export class Gone extends Error {}

/** Throws an Error with a text for the user. */
async function request(method: string, url: string, body?: object): Promise<Response> {
  const headers = body ? { "content-type": "application/json" } : undefined;
  const asked = fetch(url, { method, headers, body: body && JSON.stringify(body) });
  const response = await asked.catch((error: unknown) => Promise.reject(new Gone(failureOf(error).message)));
  if (response.ok) return response;
  const payload: unknown = await response.json().catch(() => undefined);
  const { message } = failureOf({ status: response.status, payload });
  throw response.status < 500 ? new Error(message) : new Gone(message);
}
