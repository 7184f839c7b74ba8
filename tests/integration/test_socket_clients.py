"""Clients that speak the sockets: the example's classes, compiled and run in Node, and the AI SDK's own transport."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from websockets.asyncio.client import connect

from tests.support.errand_words import build
from tests.support.serving import served
from tests.support.sockets import listening
from tests.support.workers import workers
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.server import ServerSettings, add_ai_sdk_routes, create_app

ROOT = Path(__file__).resolve().parents[2]
MODULES, AI = ROOT / "tests" / "js" / "node_modules", ROOT / "tests" / "js" / "ai-sdk"
EXAMPLES = ROOT / "examples" / "sockets"
OPTIONS = ("--target", "ES2022", "--module", "ESNext", "--moduleResolution", "bundler", "--skipLibCheck", "--strict")

AGENTS = """
import { WebSocket as Socket } from "ws";
import { AgentSocket, SocketAgent } from "./agui.js";
(globalThis as any).WebSocket = Socket;
const socket = new AgentSocket(process.argv[2] + "?device=node&abilities=camera"), frames: any[] = [];
socket.onFrame = (frame) => frames.push(frame);
const agents = ["a", "b"].map((threadId) => new SocketAgent(socket, { threadId }));
for (const agent of agents) agent.addMessage({ id: `u-${agent.threadId}`, role: "user", content: "hello" });
await Promise.all(agents.map((agent) => agent.runAgent()));
const again = new SocketAgent(socket, { threadId: "a" });
await again.connectAgent();
const slow = new SocketAgent(socket, { threadId: "slow" });
slow.addMessage({ id: "u-slow", role: "user", content: "slow" });
const running = slow.runAgent({}, { onTextMessageContentEvent: () => slow.abortRun() });
await running;
const refused = new SocketAgent(socket, { threadId: "x".repeat(300) });
refused.addMessage({ id: "u", role: "user", content: "hello" });
const error = await refused.runAgent().then(() => "", (e) => e.message);
const told = [...agents, again, slow].map((agent) => agent.messages.map(({ role }) => role).join(" "));
const whole = slow.messages.at(-1)!.content!.toString().includes("word79");
console.log(JSON.stringify({ told, error, whole, first: frames[0] }));
await socket.close();
"""

CHATS = """
import { AbstractChat, type ChatState, type ChatStatus, type UIMessage } from "ai";
import { WebSocket as Socket } from "ws";
import { SocketChatTransport } from "./ai_sdk.js";
(globalThis as any).WebSocket = Socket;
class State implements ChatState<UIMessage> {
  status: ChatStatus = "ready"; error: Error | undefined; messages: UIMessage[] = [];
  pushMessage = (message: UIMessage) => void this.messages.push(message);
  popMessage = () => void this.messages.pop();
  replaceMessage = (index: number, message: UIMessage) => void (this.messages[index] = message);
  snapshot = <T>(value: T) => structuredClone(value);
}
class Chat extends AbstractChat<UIMessage> {
  constructor(id: string, transport: SocketChatTransport<UIMessage>) { super({ id, transport, state: new State() }); }
}
const text = (chat: Chat) => (chat.lastMessage?.parts ?? []).map((p) => (p.type === "text" ? p.text : "")).join("");
const transport = new SocketChatTransport<UIMessage>(process.argv[2]), id = crypto.randomUUID();
const chat = new Chat(id, transport), other = new Chat(crypto.randomUUID(), transport);
await Promise.all([chat.sendMessage({ text: "hello" }), other.sendMessage({ text: "count" })]);
const said = [text(chat), text(other)];
await chat.resumeStream();
const slow = chat.sendMessage({ text: "slow" });
while (!text(chat).includes("word5")) await new Promise((resolve) => setTimeout(resolve, 20));
const page = new Chat(id, new SocketChatTransport<UIMessage>(process.argv[2]));
const joined = page.resumeStream();
while (!text(page).includes("word8")) await new Promise((resolve) => setTimeout(resolve, 20));
await chat.stop();
await slow;
await joined;
const stopped = text(page).includes("word79") ? "no" : page.status;
await other.sendMessage({ text: "fail" });
console.log(JSON.stringify({ said, stopped, failed: other.status, alive: text(page).startsWith("word0 word1") }));
await transport.close();
process.exit();
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with served("tests.support.errand_words:one_worker") as url:
        yield url.replace("http", "ws")


def played(folder: Path, name: str, script: str, url: str, modules: Mapping[str, Path]) -> dict[str, Any]:
    """What a script prints that uses one of the example's files."""
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "node_modules").mkdir()
    for package, path in modules.items():
        at = folder / "node_modules" / package
        at.parent.mkdir(exist_ok=True)
        at.symlink_to(path)
    (folder / f"{name}.ts").write_text((EXAMPLES / f"{name}.ts").read_text())
    (folder / "env.d.ts").write_text('declare module "ws"; declare const process: any;')
    (folder / "script.ts").write_text(script)
    compiler = ["node", str(MODULES / "typescript/bin/tsc"), *OPTIONS, "--lib", "ES2022,DOM,DOM.Iterable"]
    for command in ([*compiler, "env.d.ts", "script.ts"], ["node", "script.js", url]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("name", ["agui", "ai_sdk"])
def test_a_client_is_short(name: str) -> None:
    assert len((EXAMPLES / f"{name}.ts").read_text().splitlines()) <= 60


@pytest.mark.slow
def test_agents_share_a_socket(server: str, tmp_path: Path) -> None:
    modules = {"@ag-ui": MODULES / "@ag-ui", "rxjs": MODULES / "rxjs", "ws": AI / "node_modules/ws"}
    shown = played(tmp_path, "agui", AGENTS, f"{server}/ws", modules)
    assert shown["told"] == ["user assistant"] * 4
    assert shown["error"] == "there is no such thread" or "256" in shown["error"]
    assert not shown["whole"]
    assert (shown["first"]["type"], shown["first"]["device"], shown["first"]["abilities"]) == (
        "connected",
        "node",
        ["camera"],
    )


@pytest.mark.slow
@pytest.mark.parametrize("version", [5, 6])
def test_chats_share_a_socket(server: str, tmp_path: Path, version: int) -> None:
    modules = {"ai": AI / f"node_modules/ai-{version}", "ws": AI / "node_modules/ws"}
    shown = played(tmp_path, "ai_sdk", CHATS, f"{server}/ai/{version}/ws?ai={version}", modules)
    assert shown["said"] == ["Hello from the agent, this is one answer. ", "1 messages. "]
    assert shown["stopped"] == "ready"
    assert shown["failed"] == "error"
    assert shown["alive"]


JUDGED = [("official", 7), ("older", 5), ("older", 6), ("older", 7), ("on two workers", 7)]


@pytest.fixture(scope="module")
def judges(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Any, subprocess.Popen[str]]]:
    """All at once: each waits most of its time."""
    with workers(tmp_path_factory.mktemp("two"), "", AI="7") as both:
        first, second = (f"{worker.url.replace('http', 'ws')}/api/chat/ws" for worker in both)
        started: dict[Any, subprocess.Popen[str]] = {}
        for frames, version in JUDGED:
            at = ["--ws", f"{server}/ai/{version}/ws", "--frames", frames, "--older-ai", str(version)]
            if frames == "on two workers":
                at = ["--ws", first, "--ws2", second, "--frames", "official"]
            command = ["node", "check-websocket.mjs", *at, "--timeout", "60", "--json"]
            started[frames, version] = subprocess.Popen(command, cwd=AI, stdout=subprocess.PIPE, text=True)
        try:
            yield started
        finally:
            for judge in started.values():
                judge.kill()
                judge.wait()


@pytest.mark.slow
@pytest.mark.parametrize(("frames", "version"), JUDGED)
def test_the_judge_is_content(judges: dict[Any, subprocess.Popen[str]], frames: str, version: int) -> None:
    shown, _ = judges[frames, version].communicate(timeout=110)
    report = json.loads(shown)
    assert [one for one in report["results"] if not one.get("ok", "note" in one)] == []
    assert report["ok"]


async def test_a_chat_of_another_device_is_not_asked() -> None:
    """The AI SDK's frames by hand: two sockets of one user show one chat."""
    settings = ServerSettings()
    app = create_app({"other": AGUIAdapter(build(InMemorySaver()))}, settings=settings)
    add_ai_sdk_routes(app, AGUIAdapter(build(InMemorySaver())), "/chat", settings=settings, service=app.state.agui)

    async def next_of(socket: Any, *kinds: str) -> dict[str, Any]:
        while (frame := json.loads(await socket.recv()))["type"] not in kinds:
            pass
        found: dict[str, Any] = frame
        return found

    async def chunks(socket: Any) -> list[dict[str, Any]]:
        found = []
        while (frame := await next_of(socket, "chunk", "end", "no-active"))["type"] == "chunk":
            found.append(frame["chunk"])
        return found

    message = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "slowask"}]}
    asked = {"id": "c1", "messages": [message], "trigger": "submit-message"}
    async with listening(app) as host, connect(f"ws://{host}/chat/ws?device=phone") as one:
        async with connect(f"ws://{host}/chat/ws") as two:
            await one.send(json.dumps({"type": "send", "requestId": "a", **asked}))
            await next_of(one, "chunk")
            await two.send(json.dumps({"type": "resume", "requestId": "b", "id": "c1"}))
            own, theirs = await chunks(one), await chunks(two)
            connections = await app.state.agui.connections.of("chat", "")
    waits = [chunk["data"] for chunk in theirs if chunk["type"] == "data-waits_elsewhere"]
    assert [(wait["count"], wait["device"]) for wait in waits] == [(1, "phone")]
    assert not [chunk for chunk in own if chunk["type"] == "data-waits_elsewhere"]
    assert (own[-1]["finishReason"], theirs[-1]["finishReason"]) == ("tool-calls", "stop")
    assert [one.thread for one in connections] == ["c1", "c1"]
