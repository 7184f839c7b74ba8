import { HttpAgent, type RunAgentInput } from "@ag-ui/client";

/** The official client, with what this server can do beyond the protocol: join a run under way, and stop it. */
export class PageAgent extends HttpAgent {
  /** What `connectAgent()` reads: the run under way, from its beginning, or the thread as it is stored. */
  protected override connect(input: RunAgentInput) {
    const there = new HttpAgent({ url: `${this.url}/connect`, headers: this.headers });
    this.abortController = new AbortController();
    there.abortController = this.abortController;
    return there.run(input);
  }

  async stop(): Promise<void> {
    await fetch(`${this.url}/threads/${encodeURIComponent(this.threadId)}/cancel`, { method: "POST" });
  }
}

export type ThreadInfo = { threadId: string; title: string; status: string; updatedAt: string };

export async function listThreads(url: string, search = "", before = ""): Promise<ThreadInfo[]> {
  const query = new URLSearchParams({ limit: "50", ...(search && { search }), ...(before && { before }) });
  const response = await fetch(`${url}/threads?${query}`);
  return response.ok ? ((await response.json()) as ThreadInfo[]) : [];
}

export const deleteThread = (url: string, id: string) =>
  fetch(`${url}/threads/${encodeURIComponent(id)}`, { method: "DELETE" });

export const renameThread = (url: string, id: string, title: string) =>
  fetch(`${url}/threads/${encodeURIComponent(id)}`, {
    method: "PATCH",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ title }),
  });
