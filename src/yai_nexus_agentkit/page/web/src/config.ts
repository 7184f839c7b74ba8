/** An agent that the page can talk to. `url` is where runs are posted; relative to the page. */
export type AgentInfo = { name: string; url: string; examples?: string[] };

/** `config.json`, beside the page: which agents there are. The server makes it. */
export type PageConfig = { agents: AgentInfo[]; inspector?: string | null; title?: string };

/** Fetch the configuration. URLs become absolute. Throws an Error with a text for the user. */
export async function loadConfig(): Promise<PageConfig> {
  const response = await fetch("config.json");
  if (!response.ok) throw new Error(`The server does not say which agents it has (${response.status}).`);
  const config = (await response.json()) as PageConfig;
  const absolute = (url: string) => new URL(url, document.baseURI).href;
  const agents = config.agents.map((agent) => ({ ...agent, url: absolute(agent.url).replace(/\/$/, "") }));
  if (agents.length === 0) throw new Error("The server has no agents.");
  return { ...config, agents, inspector: config.inspector ? absolute(config.inspector) : null };
}
