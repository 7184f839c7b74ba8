// Chat, a tool that the page executes, state that both sides edit, a question of the agent's, and a chart from a node.
import {
  CopilotChat,
  CopilotKitProvider,
  useAgent,
  useDefaultRenderTool,
  useFrontendTool,
  useInterrupt,
} from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { z } from "zod";
import "./page.css";

/** The conversation is in the address: a reload finds it, with a run that is active. */
const thread = new URLSearchParams(location.search).get("thread") ?? crypto.randomUUID();
history.replaceState(null, "", `?thread=${thread}`);

/** What a node emits with `EventEmitter().emit("display_chart", {title, x, y}, keep=True)`: a CUSTOM event with that value. */
function useChart(agent) {
  const [chart, setChart] = useState(null);
  useEffect(() => {
    const { unsubscribe } = agent.subscribe({
      onCustomEvent: ({ event }) => {
        if (event.name === "display_chart") setChart(event.value);
      },
    });
    return unsubscribe;
  }, [agent]);
  return chart;
}

function Chart({ title, x, y }) {
  const top = Math.max(1, ...y);
  return (
    <svg viewBox={`0 0 ${x.length * 80} 150`} role="img" aria-label={`${title}: ${x.map((name, n) => `${name} ${y[n]}`).join(", ")}`}>
      {x.map((name, n) => {
        const height = (y[n] / top) * 100;
        return (
          <g key={name} textAnchor="middle" fontSize="13">
            <rect x={n * 80 + 15} y={125 - height} width="50" height={height} fill="steelblue" />
            <text x={n * 80 + 40} y={120 - height}>{y[n]} {title}</text>
            <text x={n * 80 + 40} y="143">{name}</text>
          </g>
        );
      })}
    </svg>
  );
}

function Question({ interrupt, resolve }) {
  return (
    <div className="question" role="alertdialog" aria-label="The agent asks">
      <p>{interrupt?.message}</p>
      <div>
        <button onClick={() => resolve({ approved: true })}>Yes</button>
        <button onClick={() => resolve({ approved: false })}>No</button>
      </div>
    </div>
  );
}

function Trip() {
  const { agent } = useAgent();
  const [colour, setColour] = useState("slategray");
  const chart = useChart(agent);
  const cities = agent.state?.cities ?? [];

  useFrontendTool({
    name: "paint",
    description: "Give the page a colour",
    parameters: z.object({ colour: z.string() }),
    handler: async ({ colour }) => {
      setColour(colour);
      return `the page is ${colour}`;
    },
  });
  useInterrupt({ render: ({ interrupt, resolve }) => <Question interrupt={interrupt} resolve={resolve} /> });
  useDefaultRenderTool({
    render: ({ name, status, result }) => (
      <div className="call" data-status={status}>{name}{result ? ` → ${result}` : " …"}</div>
    ),
  });

  const without = (gone) => agent.setState({ ...agent.state, cities: cities.filter((city) => city !== gone) });
  return (
    <aside className="trip" style={{ background: colour }} aria-label="Trip">
      <h1>Trip</h1>
      <ul>
        {cities.map((city) => (
          <li key={city}>
            {city} <button aria-label={`Remove ${city}`} onClick={() => without(city)}>×</button>
          </li>
        ))}
      </ul>
      {chart && <Chart {...chart} />}
    </aside>
  );
}

createRoot(document.getElementById("root")).render(
  <CopilotKitProvider runtimeUrl="/copilotkit" enableInspector={false}>
    <div className="page">
      <Trip />
      <main className="chat"><CopilotChat threadId={thread} /></main>
    </div>
  </CopilotKitProvider>,
);
