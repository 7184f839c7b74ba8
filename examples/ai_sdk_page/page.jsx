// A chat: streamed text, tools as cards, an approval, a tool that the page executes, and an answer that survives a reload.
import { useChat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  getToolName,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from "ai";
import { useState } from "react";
import { createRoot } from "react-dom/client";
import "./page.css";

const api = "/api/chat/desk";

/** The chat is in the address: a reload finds it, with a run that is active. */
const id = new URLSearchParams(location.search).get("chat") ?? crypto.randomUUID();
history.replaceState(null, "", `?chat=${id}`);

/** What this page can do for the agent. The model gets it as a tool. */
const tools = [
  {
    name: "paint",
    description: "Give the page a colour",
    parameters: { type: "object", properties: { colour: { type: "string" } }, required: ["colour"] },
  },
];

function Tool({ part, answer }) {
  const result = part.errorText ?? part.output;
  return (
    <div className="tool" data-state={part.state}>
      <b>{getToolName(part)}</b> <code>{JSON.stringify(part.input ?? {})}</code>
      {result !== undefined && <div className="result">{typeof result === "string" ? result : JSON.stringify(result)}</div>}
      {part.state === "output-denied" && <div className="result">not approved</div>}
      {part.state === "approval-requested" && (
        <div role="alertdialog" aria-label="The agent asks">
          <p>May it run?</p>
          <button onClick={() => answer({ id: part.approval.id, approved: true })}>Yes</button>
          <button onClick={() => answer({ id: part.approval.id, approved: false })}>No</button>
        </div>
      )}
    </div>
  );
}

function Message({ message, answer }) {
  return (
    <div className={message.role}>
      {message.parts.map((part, n) => {
        if (part.type === "text") return <p key={n}>{part.text}</p>;
        if (part.type === "reasoning") return <p key={n} className="thought">{part.text}</p>;
        if (isToolUIPart(part)) return <Tool key={part.toolCallId} part={part} answer={answer} />;
        return null;
      })}
    </div>
  );
}

function Chat({ stored }) {
  const [colour, setColour] = useState("slategray");
  const [text, setText] = useState("");
  const chat = useChat({
    id,
    messages: stored,
    resume: true,
    transport: new DefaultChatTransport({ api, body: { tools } }),
    sendAutomaticallyWhen: (all) =>
      lastAssistantMessageIsCompleteWithToolCalls(all) || lastAssistantMessageIsCompleteWithApprovalResponses(all),
    onToolCall: ({ toolCall: { toolName, toolCallId, input } }) => {
      if (toolName !== "paint") return; // the server's
      setColour(input.colour);
      chat.addToolOutput({ tool: toolName, toolCallId, output: `the page is ${input.colour}` });
    },
  });
  const busy = chat.status === "submitted" || chat.status === "streaming";
  const send = (event) => {
    event.preventDefault();
    if (text && !busy) chat.sendMessage({ text });
    setText("");
  };
  const stop = () => {
    chat.stop(); // the page stops listening
    fetch(`${api}/${id}/stop`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
  };
  return (
    <>
      <header style={{ background: colour }}>
        <h1>Weather desk</h1>
      </header>
      <main data-status={chat.status} aria-live="polite">
        {chat.messages.map((message) => (
          <Message key={message.id} message={message} answer={chat.addToolApprovalResponse} />
        ))}
      </main>
      {chat.error && <p className="error">{chat.error.message}</p>}
      <form onSubmit={send}>
        <input value={text} onChange={(event) => setText(event.target.value)} aria-label="Message" placeholder="Message" />
        {busy ? <button type="button" onClick={stop}>Stop</button> : <button>Send</button>}
      </form>
    </>
  );
}

const stored = await (await fetch(`${api}/${id}`)).json();
createRoot(document.getElementById("root")).render(<Chat stored={stored} />);
