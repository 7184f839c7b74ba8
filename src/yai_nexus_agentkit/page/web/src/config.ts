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

/** `config.json`, beside the page: which agents there are. The server makes it. */
export type PageConfig = { agents: AgentInfo[]; inspector?: string | null; title?: string };

/** Fetch the configuration. URLs become absolute. Throws an Error with a text for the user. */
export async function loadConfig(): Promise<PageConfig> {
  const response = await fetch("config.json");
  if (!response.ok) throw new Error(`The server does not say which agents it has (status ${response.status}).`);
  const config = (await response.json()) as PageConfig;
  const absolute = (url: string) => new URL(url, document.baseURI).href;
  const agents = config.agents.map((agent) => {
    return { ...agent, url: absolute(agent.url).replace(/\/$/, ""), run: absolute(agent.run ?? agent.url) };
  });
  if (agents.length === 0) throw new Error("The server has no agents.");
  return { ...config, agents, inspector: config.inspector ? absolute(config.inspector) : null };
}
