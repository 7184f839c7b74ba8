/** An agent that the page can talk to. URLs are relative to the page. */
export type AgentInfo = {
  name: string;
  /** The agent's routes: `{url}/threads`, `{url}/connect`. */
  url: string;
  /** Where runs are posted, if that is not `url`. */
  run?: string;
  /** Messages that a new conversation offers. */
  examples?: string[];
};

/**
 * `config.json`, beside the page: which agents there are. The server makes it. `user`: who is signed in, as a text that
 * says no more than whether that is the same person. Null: nobody. Missing: all are one user.
 */
export type PageConfig = { agents: AgentInfo[]; inspector?: string | null; title?: string; user?: string | null };

/** Fetch the configuration. URLs become absolute. Throws an Error with a text for the user. */
export async function loadConfig(): Promise<PageConfig> {
  const config = await read(await fetch("config.json"));
  const absolute = (url: string) => new URL(url, document.baseURI).href;
  const agents = config.agents.map((agent) => {
    return { ...agent, url: absolute(agent.url).replace(/\/$/, ""), run: absolute(agent.run ?? agent.url) };
  });
  if (agents.length === 0) throw new Error("The server has no agents.");
  return { ...config, agents, inspector: config.inspector ? absolute(config.inspector) : null };
}

/** Who is signed in now, as `PageConfig.user` says; "" if all are one user. Throws an Error if the server is not there. */
export async function personNow(): Promise<string | null> {
  const response = await fetch("config.json");
  // The page itself may be guarded.
  return response.status === 401 || response.status === 403 ? null : personOf(await read(response));
}

export const personOf = ({ user = "" }: PageConfig): string | null => user;

async function read(response: Response): Promise<PageConfig> {
  if (!response.ok) throw new Error(`The server does not say which agents it has (status ${response.status}).`);
  return (await response.json()) as PageConfig;
}
