"""What of a request reaches the agent: files that are named by URL, instructions of the client. Real servers, real
graphs, on every wire and with both sources."""

from __future__ import annotations

import asyncio
import json
import logging
from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import dynamic_prompt
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.support.file_server import FileServer, answer, file_server
from tests.support.serving import Exchange, call, run_body
from tests.support.sockets import listening, tab
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, Hooks
from yai_nexus_agentkit.server import Fetcher, OpenAISettings, ServerSettings, create_app
from yai_nexus_agentkit.testing import ScriptedChatModel

PNG = b"\x89PNG\r\n\x1a\n" + bytes(1000)
PDF = b"%PDF-1.7" + bytes(100)
BASE64 = b64encode(PNG).decode()
HERE = Fetcher(hosts=["127.0.0.1"], size=100_000, timeout=2)


class Looker:
    """An agent that keeps what it was given."""

    def __init__(self, *, keeps: bool = True, hooks: Hooks | None = None, **settings: Any) -> None:
        self.given: list[list[BaseMessage]] = []
        graph = StateGraph(MessagesState).add_node("look", self.look).add_edge(START, "look")
        saver = InMemorySaver() if keeps else None
        self.adapter = AGUIAdapter(graph.compile(checkpointer=saver), hooks=hooks or Hooks())
        self.app = create_app(
            {"agent": self.adapter}, settings=ServerSettings(**{"fetcher": HERE, **settings}), copilotkit="/kit"
        )
        self.runs = 0

    def look(self, state: MessagesState) -> dict[str, Any]:
        self.given.append(state["messages"])
        return {"messages": [AIMessage(f"answer {len(self.given)}", id=f"a{len(self.given)}")]}

    async def send(self, *messages: dict[str, Any], path: str = "/agent", **more: Any) -> Exchange:
        self.runs += 1
        body = run_body(None, run=f"r{self.runs}", messages=list(messages), protocolVersion="1.0", **more)
        return await call(self.app, "POST", path, body)

    @property
    def blocks(self) -> list[Any]:
        """The blocks of the first message of the last run."""
        content = self.given[-1][0].content
        return content if isinstance(content, list) else [content]


def user(*urls: str, id: str = "u1", kind: str = "image", text: str = "look") -> dict[str, Any]:
    parts = [{"type": kind, "source": {"type": "url", "value": url}} for url in urls]
    return {"id": id, "role": "user", "content": [{"type": "text", "text": text}, *parts]}


def said(text: str, id: str) -> dict[str, Any]:
    return {"id": id, "role": "user", "content": text}


@pytest.fixture
async def files() -> AsyncIterator[FileServer]:
    answers: dict[str, Any] = {
        "/a.png": answer(PNG, content_type="image/png"),
        "/b.png": answer(PNG[::-1], content_type="image/png"),
        "/moved.png": answer(status=301, location="/a.png"),
        "/page.png": answer(b"<html>", content_type="text/html"),
        "/paper": answer(PDF, content_type="application/pdf"),
        "/clip": answer(b"\0\0\0\x20ftypisom", content_type="video/mp4"),
        "/large.png": answer(bytes(100_001), content_type="image/png"),
        "/inside.png": answer(status=302, location="http://127.0.0.2/a.png"),
    }
    async with file_server(answers) as server:
        yield server


# ---------------------------------------------------------------- by default


ACCEPTED = ["https://example.com/cat.png", "HTTPS://Example.com:8443/cat.png?a=b#c", "https://93.184.216.34/cat.png"]
REFUSED = [
    "http://example.com/cat.png",
    "http://169.254.169.254/latest/meta-data/iam",
    "https://169.254.169.254/latest/meta-data/iam",
    "https://localhost/cat.png",
    "https://localhost./cat.png",
    "https://db/cat.png",
    "https://metadata.google.internal/computeMetadata/v1/",
    "https://127.0.0.1/cat.png",
    "https://127.1/cat.png",
    "https://2130706433/cat.png",
    "https://0x7f.1/cat.png",
    "https://10.0.0.1/cat.png",
    "https://[::1]/cat.png",
    "https://[::ffff:127.0.0.1]/cat.png",
    "https://[::ffff:127.0.0.1/cat.png",
    "https://ann:secret@example.com/cat.png",
    "https://example.com\\@localhost/cat.png",
    "https://example.com/cat.png\n",
    "https:///cat.png",
    "https:cat.png",
    "file:///etc/passwd",
    "/etc/passwd",
    "../secret.png",
    "C:\\secret.png",
    "gs://bucket/secret.png",
    "s3://bucket/secret.png",
    "ftp://example.com/cat.png",
    "javascript:alert(1)",
    "",
]
DEFAULTS = [(url, 200) for url in ACCEPTED] + [(url, 422) for url in REFUSED]
SHAPES = {
    "part": ({"type": "image", "source": {"type": "url", "value": "@"}}, "/source/value"),
    "document": ({"type": "document", "source": {"type": "url", "value": "@"}}, "/source/value"),
    "before 1.0": ({"type": "binary", "mimeType": "image/png", "url": "@"}, "/url"),
    "OpenAI's": ({"type": "image_url", "image_url": {"url": "@"}}, "/image_url/url"),
    "OpenAI's file": ({"type": "input_file", "file_url": "@"}, "/file_url"),
    "LangChain's": ({"type": "image", "url": "@"}, "/url"),
    "a handle": ({"type": "image", "source": {"type": "file", "value": "@"}}, "/source/value"),
    "Google's": ({"type": "media", "mime_type": "image/png", "file_uri": "@"}, "/file_uri"),
}


def filled(value: Any, url: str) -> Any:
    if isinstance(value, dict):
        return {key: filled(inner, url) for key, inner in value.items()}
    return url if value == "@" else value


@pytest.mark.parametrize("path", ["/agent", "/kit/agent/agent/run"])
@pytest.mark.parametrize(("url", "status"), DEFAULTS)
async def test_only_urls_of_public_https_hosts_are_passed_on(url: str, status: int, path: str) -> None:
    looker = Looker(fetcher=Fetcher())
    done = await looker.send(user(url), path=path)
    assert done.status == status
    if status == 200:
        assert looker.blocks[1]["url"] == url
    else:
        assert looker.given == []
        assert (await call(looker.app, "GET", "/agent/threads/t1/messages")).status == 404


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", ["pass", "refuse", "fetch"])
async def test_a_url_counts_in_every_shape_and_is_named(shape: str, mode: str) -> None:
    part, end = SHAPES[shape]
    looker = Looker(media=mode)
    message = {"id": "u1", "role": "user", "content": [{"type": "text", "text": "x"}, filled(part, "file:///etc/pw")]}
    activity = {"id": "x", "role": "activity", "activityType": "media", "content": {}}
    done = await looker.send(activity, message)
    assert (done.status, done.error) == (422, "INVALID_INPUT")
    assert done.json["detail"]["path"] == f"/messages/1/content/1{end}"
    assert looker.given == []


async def test_a_result_of_a_clients_tool_counts_too() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "camera", "arguments": "{}"}}]
    result = {**user("http://10.0.0.1/a.png", id="r"), "role": "tool", "toolCallId": "c1"}
    done = await Looker().send(said("hi", "u1"), {"id": "a0", "role": "assistant", "toolCalls": calls}, result)
    assert (done.status, done.json["detail"]["path"]) == (422, "/messages/2/content/1/source/value")


@pytest.mark.parametrize("mode", ["pass", "refuse", "fetch"])
async def test_data_in_the_request_is_no_url(mode: str) -> None:
    looker = Looker(media=mode)
    inline = {"type": "image", "source": {"type": "data", "value": BASE64, "mimeType": "image/png"}}
    handle = {"type": "image", "source": {"type": "file", "value": "file-1", "provider": "openai"}}
    done = await looker.send({**user("data:text/plain,hello"), "content": [inline, handle]})
    assert done.status == 200
    assert looker.blocks[0]["base64"] == BASE64


async def test_refuse_refuses_every_url() -> None:
    looker = Looker(media="refuse")
    done = await looker.send(user(ACCEPTED[0]))
    assert (done.status, done.error) == (422, "INVALID_INPUT")
    assert "send the data" in done.json["detail"]["error_description"]


@pytest.mark.parametrize("mode", ["refuse", "fetch"])
async def test_what_the_thread_has_stays_whatever_the_settings_say_now(mode: Any) -> None:
    looker, message = Looker(), user(ACCEPTED[0])
    await looker.send(message)
    looker.app = create_app({"agent": looker.adapter}, settings=ServerSettings(media=mode, fetcher=HERE))
    answered = {"id": "a1", "role": "assistant", "content": "answer 1"}
    assert (await looker.send(message, answered, said("more", "u2"))).status == 200
    assert looker.blocks[1]["url"] == ACCEPTED[0]


async def test_listed_hosts_count_for_urls_that_are_passed_on_too() -> None:
    assert (await Looker(fetcher=Fetcher(hosts=["files.corp"])).send(user("https://files.corp/a.png"))).status == 200


# ---------------------------------------------------------------- fetched


@pytest.mark.parametrize("source", ["events", "callbacks"])
async def test_the_model_gets_the_data_and_the_client_keeps_the_url(files: FileServer, judge: Any, source: Any) -> None:
    given: list[Any] = []

    def look(state: MessagesState) -> dict[str, Any]:
        given.append(state["messages"][0].content)
        return {"messages": [AIMessage("nice", id=f"a{len(given)}")]}

    graph = StateGraph(MessagesState).add_node(look).add_edge(START, "look").compile(checkpointer=InMemorySaver())
    adapter = AGUIAdapter(graph, options=AdapterOptions(source=source, messages_snapshot="always"))
    app = create_app(adapter, settings=ServerSettings(media="fetch", fetcher=HERE))
    first = user(files.url("/a.png"), files.url("/moved.png"), files.url("/a.png"))
    first["content"][1]["metadata"] = {"mine": 1}
    body = run_body(None, messages=[first], protocolVersion="1.0")
    done = await call(app, "POST", "/", body)
    assert [block.get("base64") for block in given[0][1:]] == [BASE64] * 3
    assert [block["mime_type"] for block in given[0][1:]] == ["image/png"] * 3
    assert given[0][1]["extras"] == {"filename": "a.png"}
    assert sorted(files.paths) == ["/a.png", "/a.png", "/moved.png"], "one file is fetched once"
    client = judge([{"events": done.events, "input": body}])
    assert client.messages[0] == first, "as the client sent it"
    listed = await call(app, "GET", "/threads/t1/messages?protocolVersion=1.0")
    assert listed.json["messages"][0] == first
    assert BASE64 not in done.body.decode() + listed.body.decode()
    # The whole history comes again; nothing is fetched again, and the data stays.
    body = run_body(None, run="r2", messages=[*client.messages, said("more", "u2")], protocolVersion="1.0")
    again = await call(app, "POST", "/", body)
    assert again.types()[-1] == "RUN_FINISHED"
    assert [block.get("base64") for block in given[1][1:]] == [BASE64] * 3
    assert len(files.paths) == 3
    judge([{"events": again.events, "input": body}])


async def test_a_snapshot_is_sent_only_where_something_differs(files: FileServer) -> None:
    looker = Looker(media="fetch")
    message = user(files.url("/a.png"))
    assert "MESSAGES_SNAPSHOT" not in (await looker.send(message)).types()
    answered = {"id": "a1", "role": "assistant", "content": "answer 1"}
    assert "MESSAGES_SNAPSHOT" not in (await looker.send(message, answered, said("more", "u2"))).types()


@pytest.mark.parametrize("hidden", [False, True])
async def test_going_back_to_a_message_with_a_file(files: FileServer, hidden: bool) -> None:
    """Repeated, it has its data; edited, its files are fetched anew."""

    def redact(messages: Any, run: Any) -> Any:
        for message in messages:
            if message.role == "user" and isinstance(message.content, list):
                message.content[0].text = message.content[0].text.replace("secret", "***")
        return messages

    looker = Looker(media="fetch", hooks=Hooks(on_messages=redact) if hidden else None)
    message = user(files.url("/a.png"), text="my secret" if hidden else "look")
    await looker.send(message)
    shown = user(files.url("/a.png"), text="my ***") if hidden else message
    assert (await looker.send(shown)).types()[-1] == "RUN_FINISHED"
    assert looker.blocks[0]["text"] == message["content"][0]["text"]
    assert looker.blocks[1]["base64"] == BASE64
    assert (len(looker.given[-1]), len(files.paths)) == (1, 1)
    await looker.send(user(files.url("/a.png"), files.url("/b.png"), text="otherwise"))
    assert [block.get("base64") for block in looker.blocks[1:]] == [BASE64, b64encode(PNG[::-1]).decode()]
    assert len(looker.given[-1]) == 1
    await looker.send(user(files.url("/b.png"), text="otherwise"))
    assert [block.get("base64") for block in looker.blocks[1:]] == [b64encode(PNG[::-1]).decode()]


async def test_without_a_checkpointer_the_files_of_the_history_are_fetched_each_time(files: FileServer) -> None:
    looker = Looker(media="fetch", keeps=False)
    message = user(files.url("/a.png"))
    for _ in range(2):
        answered = {"id": "a1", "role": "assistant", "content": "answer 1"}
        await looker.send(message, answered, said("more", "u2"))
        assert looker.blocks[1]["base64"] == BASE64
    assert files.paths == ["/a.png"] * 2


async def test_a_viewer_who_joins_sees_the_url(files: FileServer) -> None:
    gate = asyncio.Event()

    async def wait(state: MessagesState) -> dict[str, Any]:
        await gate.wait()
        return {"messages": [AIMessage("done")]}

    graph = StateGraph(MessagesState).add_node(wait).add_edge(START, "wait").compile(checkpointer=InMemorySaver())
    app = create_app(AGUIAdapter(graph), settings=ServerSettings(media="fetch", fetcher=HERE))
    message = user(files.url("/a.png"))
    body = run_body(None, messages=[message], protocolVersion="1.0")
    run = Exchange(app, "POST", "/", json.dumps(body).encode(), {"content-type": "application/json"})
    await run.until(lambda it: "RUN_STARTED" in it.types())
    late = asyncio.create_task(call(app, "POST", "/connect", {**body, "messages": []}))
    await asyncio.sleep(0.1)
    gate.set()
    await run.end()
    [shown] = [event for event in (await late).events if event["type"] == "MESSAGES_SNAPSHOT"][:1]
    assert shown["messages"] == [message]


@pytest.mark.parametrize(
    ("path", "kind", "block", "mime"),
    [
        ("/paper", "document", "file", "application/pdf"),
        ("/paper", "image", "file", "application/pdf"),
        ("/clip", "image", "video", "video/mp4"),
        ("/clip", "video", "video", "video/mp4"),
        ("/a.png", "document", "image", "image/png"),
        ("/page.png", "document", "file", "text/html"),
    ],
)
async def test_a_part_becomes_what_its_file_is(files: FileServer, path: str, kind: str, block: str, mime: str) -> None:
    looker = Looker(media="fetch")
    assert (await looker.send(user(files.url(path), kind=kind))).status == 200
    assert (looker.blocks[1]["type"], looker.blocks[1]["mime_type"]) == (block, mime)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/page.png", "it is text/html, not of the type image"),
        ("/large.png", "it is larger than 100000 bytes"),
        ("/nothing.png", "its host answered with the status 404"),
        ("/inside.png", "its host has no public address"),
    ],
)
async def test_a_file_that_cannot_be_had_is_named(files: FileServer, caplog: Any, path: str, reason: str) -> None:
    looker = Looker(media="fetch")
    activity = {"id": "x", "role": "activity", "activityType": "media", "content": {}}
    done = await looker.send(activity, user(files.url("/a.png"), files.url(path)))
    assert (done.status, done.error) == (422, "INVALID_INPUT")
    detail = done.json["detail"]
    assert (detail["path"], detail["error_description"]) == ("/messages/1/content/2/source/value", reason)
    assert looker.given == []
    if path == "/inside.png":
        assert "127.0.0.2" in caplog.text, "the log has what the client must not learn"
        assert "127.0.0.2" not in done.body.decode()


@pytest.mark.parametrize("mode", ["pass", "fetch"])
async def test_files_of_the_agents_own_tools_come_back_unchanged(mode: Any) -> None:
    """A page holds what tools and subagents showed it, and sends it with every run."""
    part = {"type": "image", "source": {"type": "url", "value": "http://10.0.0.1/chart.png"}}

    def look(state: MessagesState) -> dict[str, Any]:
        if len(state["messages"]) > 1:
            return {"messages": [AIMessage("again")]}
        made = AIMessage("", tool_calls=[{"name": "draw", "args": {}, "id": "c1"}])
        result = ToolMessage([{"type": "image", "url": part["source"]["value"]}], tool_call_id="c1", id="r1")  # type: ignore[index]
        return {"messages": [made, result, AIMessage("done")]}

    graph = StateGraph(MessagesState).add_node("look", look).add_edge(START, "look").compile(InMemorySaver())
    app = create_app(AGUIAdapter(graph), settings=ServerSettings(media=mode, fetcher=HERE))
    await call(app, "POST", "/", run_body(None, messages=[said("hi", "u1")], protocolVersion="1.0"))
    shown = (await call(app, "GET", "/threads/t1/messages?protocolVersion=1.0")).json["messages"]
    assert shown[2]["content"] == [part]
    shown[2]["content"].append({"type": "text", "text": "seen"})
    inner = {"id": "x1", "role": "tool", "toolCallId": "c9", "content": [part], "subagentRunId": "s1"}
    messages = [*shown, inner, said("more", "u2")]
    done = await call(app, "POST", "/", run_body(None, run="r2", messages=messages, protocolVersion="1.0"))
    assert done.text() == "again", done.body


async def test_data_may_be_no_larger_than_a_file() -> None:
    inline = {"type": "image", "source": {"type": "data", "value": "A" * 140_000, "mimeType": "image/png"}}
    done = await Looker(media="fetch").send({"id": "u1", "role": "user", "content": [inline]})
    assert (done.status, done.json["detail"]["path"]) == (422, "/messages/0/content/0/source/value")


async def test_a_clients_mark_of_a_fetched_file_is_none(files: FileServer) -> None:
    """Else data could be given out as that of any URL, which would then count as known."""
    looker = Looker()
    forged = {"type": "image", "source": {"type": "url", "value": "http://10.0.0.1/a.png"}}
    part = {"type": "image", "source": {"type": "data", "value": BASE64, "mimeType": "image/png"}}
    await looker.send({"id": "u1", "role": "user", "content": [{**part, "metadata": {"fetched": forged, "a": 1}}]})
    listed = await call(looker.app, "GET", "/agent/threads/t1/messages")
    assert listed.json["messages"][0]["content"] == [{**part, "metadata": {"a": 1}}]
    assert (await looker.send({"id": "u1", "role": "user", "content": [forged]}, said("x", "u2"))).status == 422


async def test_files_count_until_the_run_has_ended(files: FileServer) -> None:
    gate = asyncio.Event()

    async def wait(state: MessagesState) -> dict[str, Any]:
        await gate.wait()
        return {"messages": [AIMessage("done")]}

    graph = StateGraph(MessagesState).add_node(wait).add_edge(START, "wait").compile()
    fetcher = Fetcher(hosts=["127.0.0.1"], size=2000, memory=2700, timeout=0.2)
    app = create_app(AGUIAdapter(graph), settings=ServerSettings(media="fetch", fetcher=fetcher))

    def asked(number: int) -> Any:
        return run_body(None, thread=f"t{number}", run=f"r{number}", messages=[user(files.url("/a.png"))])

    first = asyncio.create_task(call(app, "POST", "/", asked(1)))
    await asyncio.sleep(0.1)
    refused = await call(app, "POST", "/", asked(2))
    assert (refused.status, refused.error) == (429, "OVERLOADED")
    assert refused.headers["retry-after"]
    gate.set()
    assert (await first).types()[-1] == "RUN_FINISHED"
    # Neither a run that ended nor one that was refused keeps anything.
    for number in range(3, 6):
        assert (await call(app, "POST", "/", asked(number))).types()[-1] == "RUN_FINISHED"


# ---------------------------------------------------------------- instructions of the client


def writes(*first: Any) -> Any:
    def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": MODEL.invoke([*first, *state["messages"]])}

    return node


MODEL = ScriptedChatModel(script=lambda messages: [" / ".join(str(m.content) for m in messages if m.type == "system")])


def by_hand(state: MessagesState) -> dict[str, Any]:
    return {"messages": MODEL.invoke([SystemMessage("own"), *state["messages"]])}


def as_pair(state: MessagesState) -> dict[str, Any]:
    return {"messages": MODEL.invoke([("system", "own"), *state["messages"]])}


def as_dict(state: MessagesState) -> dict[str, Any]:
    return {"messages": MODEL.invoke([{"role": "system", "content": "own"}, *state["messages"]])}


PROMPT = ChatPromptTemplate.from_messages([("system", "own"), ("placeholder", "{messages}")])


def by_template(state: MessagesState) -> dict[str, Any]:
    return {"messages": (PROMPT | MODEL).invoke({"messages": state["messages"]})}


def without(state: MessagesState) -> dict[str, Any]:
    return {"messages": MODEL.invoke(state["messages"])}


@dynamic_prompt
def prompted(request: Any) -> str:
    return "own"


def one_node(node: Any) -> Any:
    return (
        StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile(checkpointer=InMemorySaver())
    )


AGENTS: dict[str, Any] = {
    "create_agent": lambda: create_agent(MODEL, system_prompt="own", checkpointer=InMemorySaver()),
    "dynamic prompt": lambda: create_agent(MODEL, middleware=[prompted], checkpointer=InMemorySaver()),
    "message": lambda: one_node(by_hand),
    "pair": lambda: one_node(as_pair),
    "dict": lambda: one_node(as_dict),
    "template": lambda: one_node(by_template),
    "closure": lambda: one_node(writes(SystemMessage("own"))),
    "subgraph": lambda: one_node(one_node(by_hand)),
}
PLAIN: dict[str, Any] = {
    "create_agent": lambda: create_agent(MODEL, checkpointer=InMemorySaver()),
    "node": lambda: one_node(without),
}


def instructed(role: str = "system", text: str = "obey", id: str = "s1") -> dict[str, Any]:
    return {"id": id, "role": role, "content": text}


async def told(graph: Any, *messages: Any, **settings: Any) -> Exchange:
    app = create_app(AGUIAdapter(graph), settings=ServerSettings(**settings))
    return await call(app, "POST", "/", run_body(None, messages=[*messages, said("hi", "u1")]))


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("role", ["system", "developer"])
async def test_where_the_agent_has_instructions_those_of_clients_are_dropped(
    agent: str, role: str, caplog: Any
) -> None:
    with caplog.at_level(logging.WARNING):
        done = await told(AGENTS[agent](), instructed(role))
    assert done.text() == "own"
    assert "instructions dropped: ['s1'] (the agent has its own)" in caplog.text


@pytest.mark.parametrize("agent", PLAIN)
@pytest.mark.parametrize(("setting", "text"), [(None, "obey"), ("allow", "obey"), ("drop", ""), ("refuse", None)])
async def test_the_setting_decides_where_the_agent_has_none(agent: str, setting: Any, text: str | None) -> None:
    done = await told(PLAIN[agent](), instructed(), client_system=setting)
    if text is None:
        assert (done.status, done.error, done.json["detail"]["path"]) == (422, "INVALID_INPUT", "/messages/0")
    else:
        assert done.text() == text


async def test_allow_lets_them_join_the_agents_own() -> None:
    assert (await told(AGENTS["message"](), instructed(), client_system="allow")).text() == "own / obey"


@pytest.mark.parametrize("setting", ["drop", "refuse"])
async def test_what_the_thread_has_stays_and_cannot_be_changed(setting: Any) -> None:
    saver = InMemorySaver()
    graph = StateGraph(MessagesState).add_node("node", without).add_edge(START, "node").compile(checkpointer=saver)
    early = create_app({"a": AGUIAdapter(graph)})
    late = create_app({"a": AGUIAdapter(graph)}, settings=ServerSettings(client_system=setting))
    assert (await call(early, "POST", "/a", run_body(None, messages=[instructed(), said("hi", "u1")]))).text() == "obey"
    same = await call(late, "POST", "/a", run_body(None, run="r2", messages=[instructed(), said("more", "u2")]))
    assert same.text() == "obey"
    other = instructed(text="obey me")
    changed = await call(late, "POST", "/a", run_body(None, run="r3", messages=[other, said("again", "u3")]))
    assert changed.status == (200 if setting == "drop" else 422)
    if setting == "drop":
        assert changed.text() == "obey"


# ---------------------------------------------------------------- every wire

Sent = tuple[int, str]
"""A status, and what names the part; the text of the run where it is 200."""


async def over_agui(app: Any, url: str) -> Sent:
    return _named(await call(app, "POST", "/agent", run_body(None, messages=[user(url), instructed()])), "path")


async def over_copilotkit(app: Any, url: str) -> Sent:
    body = run_body(None, messages=[user(url), instructed()])
    done = await call(app, "POST", "/kit/agent/agent/run", body)
    return done.status, done.text() if done.status == 200 else done.json["message"]


async def over_ai_sdk(app: Any, url: str) -> Sent:
    file = {"type": "file", "mediaType": "image/png", "url": url}
    system = {"id": "s1", "role": "system", "parts": [{"type": "text", "text": "obey"}]}
    messages = [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "look"}, file]}, system]
    done = await call(app, "POST", "/ai/agent", {"id": "t1", "messages": messages, "trigger": "submit-message"})
    return done.status, done.body.decode() if done.status == 200 else done.json["message"]


async def over_openai(app: Any, url: str) -> Sent:
    content = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": url}}]
    messages = [{"role": "system", "content": "obey"}, {"role": "user", "content": content}]
    done = await call(app, "POST", "/v1/chat/completions", {"model": "agent", "messages": messages})
    if done.status == 200:
        return 200, done.json["choices"][0]["message"]["content"]
    return done.status, done.json["error"]["param"]


async def over_a_socket(app: Any, url: str) -> Sent:
    async with listening(app) as host, tab(host, "/agent/ws") as one:
        name = await one.ask("run", None, messages=[user(url), instructed()])
        await one.until(lambda: one.is_over(name))
        [error] = [frame for frame in one.of(name) if frame["type"] == "error"] or [None]
        return (200, one.text(name)) if error is None else (error["status"], str(error))


def _named(done: Exchange, key: str) -> Sent:
    return done.status, done.text() if done.status == 200 else done.json["detail"][key]


WIRES = {
    "AG-UI": (over_agui, 422, "/messages/0/content/1/source/value"),
    "CopilotKit": (over_copilotkit, 422, ""),
    "AI SDK": (over_ai_sdk, 422, ""),
    "OpenAI": (over_openai, 400, "messages[1].content[1].image_url.url"),
    "web socket": (over_a_socket, 422, ""),
}


@pytest.mark.parametrize("wire", WIRES)
async def test_every_wire_is_held_to_the_same(wire: str, files: FileServer) -> None:
    send, status, place = WIRES[wire]

    def look(state: MessagesState) -> dict[str, Any]:
        kinds = [m.type for m in state["messages"]]
        blocks = [b for m in state["messages"] if isinstance(m.content, list) for b in m.content]
        given = [b["base64"] for b in blocks if isinstance(b, dict) and "base64" in b]
        return {"messages": [AIMessage(f"{kinds.count('system')} {given == [BASE64]}")]}

    graph = StateGraph(MessagesState).add_node("look", look).add_edge(START, "look").compile()
    app = create_app(
        {"agent": AGUIAdapter(graph)},
        settings=ServerSettings(media="fetch", fetcher=HERE, client_system="drop"),
        copilotkit="/kit",
        ai_sdk="/ai",
        openai=OpenAISettings(),
    )
    refused = await send(app, "http://10.0.0.1/a.png")
    assert refused == (status, place or refused[1])
    assert place or "its host has no public address" in refused[1]
    done = await send(app, files.url("/a.png"))
    assert done[0] == 200, done
    assert "0 True" in done[1]
