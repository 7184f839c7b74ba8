"""Threads and states that are larger than one event may be: 10 MiB. What fits is sent, media as links, and clients send
the links back."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.support.serving import Exchange, call, living, run_body
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, Hooks
from yai_nexus_agentkit.runs.identity import Identity
from yai_nexus_agentkit.server import ServerSettings, create_app
from yai_nexus_agentkit.testing import parse_sse
from yai_nexus_agentkit.transport.agui_sse import MAX_FRAME

SIZE = 6_000_000
PICTURES = [random.Random(n).randbytes(SIZE) for n in range(3)]
DATA = [base64.b64encode(picture).decode() for picture in PICTURES]
LIMITS = {"max_body": 64 * 1024 * 1024}


def picture(number: int, mime: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "source": {"type": "data", "value": DATA[number], "mimeType": mime}}


def said(number: int, mime: str = "image/png") -> dict[str, Any]:
    """A user message with a picture."""
    text = {"type": "text", "text": f"picture {number}"}
    return {"id": f"u{number}", "role": "user", "content": [text, picture(number, mime)]}


def typed(text: str) -> dict[str, Any]:
    return {"id": f"id-{text}", "role": "user", "content": text}


class State(MessagesState, total=False):
    seen: list[int]
    first: Any
    second: Any


def units(frame: bytes) -> int:
    """Characters as JavaScript counts them."""
    return len(frame.decode().encode("utf-16-le")) // 2


def looking(messages: list[BaseMessage]) -> list[int]:
    """Lengths of the pictures that the model is given."""
    blocks = [b for m in messages if isinstance(m.content, list) for b in m.content if isinstance(b, dict)]
    return [len(block["base64"]) for block in blocks if block.get("base64")]


def viewer(asks: bool = False) -> Any:
    """Says how many pictures it sees."""

    def look(state: State) -> dict[str, Any]:
        seen = looking(state["messages"])
        if asks and state["messages"][-1].content == "ask":
            return {"messages": [AIMessage(f"answered {interrupt('go on?')}")], "seen": seen}
        return {"messages": [AIMessage(f"{len(seen)} pictures")], "seen": seen}

    return StateGraph(State).add_node("look", look).add_edge(START, "look").compile(checkpointer=InMemorySaver())


class Client:
    """Holds what a page holds, and sends what it is asked to."""

    def __init__(self, graph: Any, *, settings: Any = None, source: Any = "events", hooks: Hooks | None = None) -> None:
        adapter = AGUIAdapter(graph, options=AdapterOptions(source=source), hooks=hooks or Hooks())
        self.app = create_app({"agent": adapter}, settings=settings or ServerSettings(**LIMITS))
        self.graph, self.runs = graph, 0
        self.messages: list[dict[str, Any]] = []
        self.headers: dict[str, str] = {"host": "chat.example"}

    async def send(self, *messages: dict[str, Any], thread: str = "t1", **more: Any) -> Exchange:
        self.runs += 1
        body = run_body(None, thread=thread, run=f"r{self.runs}", **{"messages": list(messages), **more})
        done = await call(self.app, "POST", "/agent", body, self.headers)
        assert done.status == 200, done.body
        assert max(map(units, done.body.split(b"\n\n"))) <= MAX_FRAME
        for event in done.events:
            if event["type"] == "MESSAGES_SNAPSHOT":
                self.messages = event["messages"]
        return done

    async def filled(self, thread: str = "t1") -> Client:
        """Two pictures of 6 MB are in the thread, each sent by itself."""
        for number in range(2):
            assert (await self.send(said(number), thread=thread)).types()[-1] == "RUN_FINISHED"
        return self

    def turn(self, done: Exchange, **more: Any) -> dict[str, Any]:
        """A run for the judge."""
        return {"events": done.events, "input": run_body(None, run=done.events[0]["runId"], messages=[], **more)}

    async def get(self, path: str) -> Exchange:
        return await call(self.app, "GET", f"/agent{path}", None, self.headers)

    @property
    def links(self) -> list[str]:
        return links(self.messages)

    async def stored(self) -> list[Any]:
        found = [saved async for saved in self.graph.checkpointer.alist(None, limit=1)]
        return found[0].checkpoint["channel_values"]["messages"]


def links(messages: list[dict[str, Any]]) -> list[str]:
    sources = [
        p["source"] for m in messages if isinstance(m.get("content"), list) for p in m["content"] if "source" in p
    ]
    return [source["value"] for source in sources if source["type"] == "url"]


@pytest.fixture(params=["events", "callbacks"])
def source(request: pytest.FixtureRequest) -> Any:
    return request.param


# ---------------------------------------------------------------- messages


async def test_a_page_that_holds_nothing_is_sent_links(source: Any) -> None:
    client = await Client(viewer(), source=source).filled()
    done = await client.send(typed("more"))
    assert done.types()[-1] == "RUN_FINISHED"
    assert "2 pictures" in str(client.messages[-1]["content"])
    [link] = client.links  # the other one fits
    assert link.startswith("http://chat.example/agent/threads/t1/media/")
    reloaded = await client.send()
    assert (reloaded.types()[-1], client.links) == ("RUN_FINISHED", [link])
    shown = await client.get("/threads/t1/messages")
    assert links(shown.json["messages"]) == [link]
    assert len(shown.body) < MAX_FRAME


async def test_a_link_leads_to_the_bytes() -> None:
    client = await Client(viewer()).filled()
    await client.send()
    [link] = client.links
    answer = await client.get(link.partition("/agent")[2])
    assert answer.status == 200
    assert answer.body in PICTURES
    named = {name: answer.headers[name] for name in ("content-type", "x-content-type-options", "content-disposition")}
    assert named == {"content-type": "image/png", "x-content-type-options": "nosniff", "content-disposition": "inline"}
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"].startswith("private")


@pytest.mark.parametrize(
    ("mime", "served", "disposition"),
    [
        ("text/html", "text/html", "attachment"),
        ("image/svg+xml", "image/svg+xml", "attachment"),
        ("IMAGE/PNG; charset=x", "image/png", "inline"),
        ("a\r\nx-evil: 1", "application/octet-stream", "attachment"),
        ("", "application/octet-stream", "attachment"),
        ("é/é", "application/octet-stream", "attachment"),
    ],
)
async def test_a_type_that_a_client_chose_runs_nothing(mime: str, served: str, disposition: str) -> None:
    client = Client(viewer())
    for number in range(2):
        await client.send(said(number, mime))
    await client.send()
    answer = await client.get(client.links[0].partition("/agent")[2])
    assert answer.status == 200
    assert (answer.headers["content-type"], answer.headers["content-disposition"]) == (served, disposition)
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert "x-evil" not in answer.headers


async def test_a_link_is_the_user_s_and_the_thread_s_own() -> None:
    def who(request: Any) -> Identity:
        return Identity(user=request.headers["x-user"])

    client = Client(viewer(), settings=ServerSettings(identity=who, **LIMITS))
    client.headers["x-user"] = "ann"
    await client.filled()
    await client.filled(thread="t2")
    await client.send()
    path = client.links[0].partition("/agent")[2]
    assert (await client.get(path)).status == 200
    assert (await client.get(path.replace("/t1/", "/t2/"))).status == 404  # the same picture, another thread
    assert (await client.get(path[:-1] + ("0" if path[-1] != "0" else "1"))).status == 404
    assert (await client.get(path + "0")).status == 404
    assert (await client.get(path.replace("/media/", "/media/../"))).status == 404
    client.headers["x-user"] = "bob"
    assert (await client.get(path)).status == 404
    await client.filled()
    assert (await client.get(path)).status == 404  # the same picture in a thread of the same name
    client.headers["x-user"] = "ann"
    assert (await call(client.app, "DELETE", "/agent/threads/t1", None, client.headers)).status == 200
    assert (await client.get(path)).status == 404


async def test_links_that_come_back_are_the_thread_s_own_pictures(source: Any) -> None:
    client = await Client(viewer(), source=source).filled()
    await client.send()
    assert len(client.links) == 1
    before = await client.stored()
    done = await client.send(*client.messages, typed("again"))
    assert "MESSAGES_SNAPSHOT" not in done.types()  # the client holds all of it
    after = await client.stored()
    assert [m.content for m in after[: len(before)]] == [m.content for m in before]
    assert len(after) == len(before) + 2
    assert after[-1].content == "2 pictures"


async def test_a_message_with_a_link_is_edited(source: Any) -> None:
    client = await Client(viewer(), source=source).filled()
    await client.send()
    edited = json.loads(json.dumps(client.messages[:1] if links(client.messages[:1]) else client.messages[:3]))
    edited[-1]["content"][0]["text"] = "edited"
    done = await client.send(*edited)
    assert done.types()[-1] == "RUN_FINISHED"
    held = await client.stored()
    message = next(m for m in held if m.content[0] == {"type": "text", "text": "edited"})
    assert message.content[1]["base64"] in DATA
    assert len(held) == len(edited) + 1


async def test_a_link_in_a_new_message_is_the_picture() -> None:
    client = await Client(viewer()).filled()
    await client.send()
    part = {"type": "image", "source": {"type": "url", "value": client.links[0], "mimeType": "image/png"}}
    done = await client.send({"id": "u9", "role": "user", "content": [part]})
    assert done.types()[-1] == "RUN_FINISHED"
    assert (await client.stored())[-1].content == "3 pictures"


async def test_a_link_that_leads_nowhere_is_refused() -> None:
    client = await Client(viewer()).filled()
    address = "http://chat.example/agent/threads/t1/media/" + "0" * 32
    part = {"type": "image", "source": {"type": "url", "value": address, "mimeType": "image/png"}}
    body = run_body(None, messages=[{"id": "u9", "role": "user", "content": [part]}])
    done = await call(client.app, "POST", "/agent", body, client.headers)
    assert (done.status, done.json["detail"]["path"]) == (422, "/messages/0/content/0/source/value")


async def test_questions_of_a_large_thread_are_asked_and_answered(source: Any) -> None:
    client = await Client(viewer(asks=True), source=source).filled()
    asked = (await client.send(typed("ask"))).events[-1]
    assert len(client.links) == 1
    again = (await client.send()).events[-1]
    [question] = again["outcome"]["interrupts"]
    assert [question["id"]] == [one["id"] for one in asked["outcome"]["interrupts"]]
    resume = [{"interruptId": question["id"], "status": "resolved", "payload": "yes"}]
    done = await client.send(*client.messages, resume=resume)
    assert done.types()[-1] == "RUN_FINISHED"
    assert (await client.stored())[-1].content == "answered yes"


async def test_both_clients_read_the_snapshot(judge: Any) -> None:
    client = await Client(viewer()).filled()
    for declared in ("1.0", None):
        done = await client.send(protocolVersion=declared)
        assert len(links(judge([client.turn(done)]).messages)) == 1


async def test_paths_of_all_kinds_get_links_that_work() -> None:
    graph = viewer()
    settings = ServerSettings(seed_paths=True, **LIMITS)
    app = create_app(AGUIAdapter(graph), settings=settings)
    thread = "a/b c?d#é\n"
    async with living(app):
        for number in range(2):
            body = run_body(None, thread=thread, run=f"r{number}", messages=[said(number)])
            assert (await call(app, "POST", "/", body)).status == 200
        quoted = "a%2Fb%20c%3Fd%23%C3%A9%0A"
        for path in (f"/threads/{quoted}/messages", f"/message_snapshot/{quoted}"):
            answer = await call(app, "GET", path, None, {"host": "x.example:81"})
            [link] = links(answer.json["messages"])
            assert link.startswith(f"http://x.example:81/threads/{quoted}/media/")
            assert (await call(app, "GET", link.removeprefix("http://x.example:81"))).body in PICTURES


async def test_what_a_hook_hides_has_no_link() -> None:
    """A picture is served as the hook shows it, or not at all."""

    def shown(messages: list[Any], run: Any) -> list[Any]:
        hide = run.request["headers"].get("x-hide")
        return [m for m in messages if not (hide and m.id == hide)]

    client = await Client(viewer(), hooks=Hooks(on_messages=shown)).filled()
    await client.send()
    [link] = client.links
    path = link.partition("/agent")[2]
    done = await client.send(*client.messages, typed("again"))
    assert "MESSAGES_SNAPSHOT" not in done.types()
    assert (await client.get(path)).status == 200
    linked = next(m["id"] for m in client.messages if links([m]))
    client.headers["x-hide"] = linked
    assert (await client.get(path)).status == 404


@pytest.mark.parametrize(
    ("way", "named"), [("/copilotkit/agent/a/run", "a"), ("/copilotkit", "a"), ("/a", "a"), ("/run", "run")]
)
async def test_every_way_to_a_thread_gives_links_that_work(way: str, named: str) -> None:
    settings = ServerSettings(**LIMITS)
    app = create_app(
        {name: AGUIAdapter(viewer()) for name in ("a", "run")}, settings=settings, copilotkit="/copilotkit"
    )

    async def send(end: str, **body: Any) -> list[str]:
        given = run_body(None, **body)
        if way == "/copilotkit":
            given = {"method": f"agent/{end}", "params": {"agentId": named}, "body": given}
        path = way.removesuffix("/run") + f"/{end}" if way.startswith("/copilotkit/") else way
        path = f"{way}/connect" if end == "connect" and "copilotkit" not in way else path
        done = await call(app, "POST", path, given, {"host": "x.example"})
        assert done.types()[-1] == "RUN_FINISHED", done.events[-1]
        return links([m for e in done.events if e["type"] == "MESSAGES_SNAPSHOT" for m in e["messages"]])

    for number in range(2):
        await send("run", run=f"r{number}", messages=[said(number)])
    for end in ("run", "connect"):
        link = (await send(end, run=end, messages=[]))[0]
        assert (await call(app, "GET", link.removeprefix("http://x.example"))).body in PICTURES


# ---------------------------------------------------------------- results of tools


def tooled(content: Any, *, subagent: bool = False) -> Any:
    """A tool whose result is large."""

    def work(state: State) -> dict[str, Any]:
        if any(m.type == "tool" for m in state["messages"]):
            return {"messages": [AIMessage("fine")]}
        ask = AIMessage("", tool_calls=[{"name": "draw", "args": {}, "id": "c1"}])
        return {"messages": [ask, ToolMessage(content, tool_call_id="c1", name="draw"), AIMessage("done")]}

    return StateGraph(State).add_node("work", work).add_edge(START, "work").compile(checkpointer=InMemorySaver())


async def test_pictures_of_a_tool_are_links(source: Any) -> None:
    blocks = [{"type": "image", "base64": data, "mime_type": "image/png"} for data in DATA[:2]]
    client = Client(tooled(blocks), source=source)
    done = await client.send(typed("draw"))
    assert done.types()[-1] == "RUN_FINISHED"
    result = next(e for e in done.events if e["type"] == "TOOL_CALL_RESULT")
    [link] = links([result])
    assert (await client.get(link.partition("/agent")[2])).body in PICTURES
    await client.send()
    assert client.links == [link]
    again = await client.send(*client.messages, typed("more"))
    assert again.types()[-1] == "RUN_FINISHED"
    assert "MESSAGES_SNAPSHOT" not in again.types()


@pytest.mark.parametrize(("source", "version"), [("events", "1.0"), ("callbacks", None)])
async def test_text_that_no_event_can_hold_is_left_out_and_says_so(source: Any, version: str | None) -> None:
    text = "x" * 12_000_000
    client = Client(tooled(text), source=source)
    done = await client.send(typed("draw"), protocolVersion=version)
    assert done.types()[-1] == "RUN_FINISHED"
    result = next(e for e in done.events if e["type"] == "TOOL_CALL_RESULT")
    assert result["content"] == "(left out: 12000000 characters are too many for one event)"
    await client.send(protocolVersion=version)
    again = await client.send(*client.messages, typed("more"), protocolVersion=version)
    assert again.types()[-1] == "RUN_FINISHED"
    assert next(m for m in await client.stored() if m.type == "tool").content == text


@pytest.mark.parametrize(("source", "parts"), [("events", False), ("callbacks", True)])
async def test_a_long_text_of_a_user_is_left_out_and_comes_back(source: Any, parts: bool) -> None:
    text = "x" * 11_000_000
    content: Any = [{"type": "text", "text": "see"}, {"type": "text", "text": text}] if parts else text
    client = Client(viewer(), source=source)
    assert (await client.send({"id": "u1", "role": "user", "content": content})).types()[-1] == "RUN_FINISHED"
    assert (await client.send(typed("more"))).types()[-1] == "RUN_FINISHED"
    shown = client.messages[0]["content"]
    note = "(left out: 11000000 characters are too many for one event)"
    assert (shown[1]["text"] if parts else shown) == note
    done = await client.send(*client.messages, typed("again"))
    assert "MESSAGES_SNAPSHOT" not in done.types()
    held = await client.stored()
    assert len(held) == 6
    assert (held[0].content[1]["text"] if parts else held[0].content) == text
    edited = {"id": "u1", "role": "user", "content": "(left out: 5 characters are too many for one event)"}
    await client.send(edited)
    assert [m.content for m in await client.stored()] == [edited["content"], "0 pictures"]


async def test_what_has_no_way_at_all_is_an_error_with_a_code() -> None:
    """Arguments of a call cannot be left out: the client may have to answer it."""

    def work(state: State) -> dict[str, Any]:
        if len(state["messages"]) > 1:
            return {"messages": [AIMessage("fine")]}
        call = {"name": "f", "args": {"text": "x" * 11_000_000}, "id": "c1"}
        return {"messages": [AIMessage("", tool_calls=[call]), ToolMessage("ok", tool_call_id="c1")]}

    graph = StateGraph(State).add_node("work", work).add_edge(START, "work").compile(checkpointer=InMemorySaver())
    client = Client(graph)
    assert (await client.send(typed("hi"))).types()[-1] == "RUN_FINISHED"
    last = (await client.send(typed("more"))).events[-1]
    assert (last["type"], last["code"]) == ("RUN_ERROR", "TOO_LARGE")
    assert last["message"].startswith("MESSAGES_SNAPSHOT has 11000")
    assert len((await client.get("/threads/t1/messages")).body) > MAX_FRAME  # a GET has no such limit


async def test_without_a_server_there_are_no_links() -> None:
    adapter, frames = AGUIAdapter(viewer()), []

    def asked(run: str, *messages: Any) -> Any:
        return run_body(None, run=run, messages=list(messages))

    for number in range(2):
        frames = [f async for f in adapter.stream_sse(asked(f"r{number}", said(number)))]
    last = parse_sse(b"".join(frames).decode())[-1]
    assert (last["type"], last["code"]) == ("RUN_ERROR", "TOO_LARGE")
    given = {"media_url": "https://files.example/"}
    frames = [f async for f in adapter.stream_sse(asked("r3"), request=given)]
    events = parse_sse(b"".join(frames).decode())
    assert events[-1]["type"] == "RUN_FINISHED"
    [link] = links(next(e for e in events if e["type"] == "MESSAGES_SNAPSHOT")["messages"])
    assert link.startswith("https://files.example/")


async def test_a_text_that_comes_in_one_piece_is_cut() -> None:
    def work(state: State) -> dict[str, Any]:
        return {"messages": [AIMessage("é" * 11_000_000)]}

    graph = StateGraph(State).add_node("work", work).add_edge(START, "work").compile(checkpointer=InMemorySaver())
    client = Client(graph)
    done = await client.send(typed("hi"))
    assert done.types()[-1] == "RUN_FINISHED"
    assert done.text() == "é" * 11_000_000


# ---------------------------------------------------------------- state


def keeping(**values: Any) -> Any:
    """Writes these keys of the state, one node after another."""

    def node(key: str, value: Any) -> Any:
        return lambda state: {key: value} if state.get(key) is None else {}

    builder = StateGraph(State)
    names = [START]
    for key, value in values.items():
        builder.add_node(f"write {key}", node(key, value))
        builder.add_edge(names[-1], f"write {key}")
        names.append(f"write {key}")
    return builder.compile(checkpointer=InMemorySaver())


LARGE: dict[str, dict[str, Any]] = {
    "two keys": {"first": DATA[0], "second": DATA[1]},
    "a list of pictures": {"first": [DATA[0], {"picture": DATA[1]}, 3]},
    "an object of pictures": {"first": {"a/b~c": DATA[0], "deep": {"list": [DATA[1], []]}, "n": 1}},
    "many small things": {"first": [{"n": n, "text": "x" * 500} for n in range(20_500)]},
    "not only ASCII": {"first": "語" * 2_000_000, "second": "🙂" * 2_000_000},
}


@pytest.mark.parametrize(("name", "source"), [*((name, "events") for name in LARGE), ("two keys", "callbacks")])
async def test_a_large_state_comes_in_pieces(judge: Any, source: Any, name: str) -> None:
    client = Client(keeping(**LARGE[name]), source=source)
    first = await client.send(typed("hi"))
    assert first.types()[-1] == "RUN_FINISHED"
    again = await client.send(typed("more"))
    assert again.types()[-1] == "RUN_FINISHED"
    clients = ["1.0.0", "0.0.59"] if name == "two keys" else ["1.0.0"]
    assert judge([client.turn(first if source == "callbacks" else again)], clients=clients).state == LARGE[name]
    assert (await client.get("/threads/t1/state")).json["snapshot"] == LARGE[name]


async def test_a_state_of_which_one_text_is_too_large_is_sent_without_its_key(judge: Any, source: Any) -> None:
    large = {"first": {"text": "x" * 11_000_000}, "second": DATA[0]}
    client = Client(keeping(**large), source=source)
    first = await client.send(typed("hi"))
    again = await client.send(typed("more"), state={"second": DATA[0]})
    for done in (first, again):
        assert done.types()[-1] == "RUN_FINISHED"
        [omitted] = [e["metadata"]["omitted"] for e in done.events if "omitted" in (e.get("metadata") or {})]
        assert omitted == ["/first"]
        verdict = judge([client.turn(done)], clients=["1.0.0"])
        assert verdict.state == {"second": DATA[0]}
    assert (await client.get("/threads/t1/state")).json["snapshot"] == large
    assert (await client.send(typed("x"), state={"second": "mine"})).types()[-1] == "RUN_FINISHED"
    assert (await client.get("/threads/t1/state")).json["snapshot"] == {**large, "second": "mine"}


async def test_a_key_that_grows_too_large_is_taken_from_the_client(judge: Any, source: Any) -> None:
    """An old value must not come back and take the place of the new one."""

    def grow(state: State) -> dict[str, Any]:
        return {"first": {"text": "x" * 11_000_000}, "seen": [1]}

    def touch(state: State) -> dict[str, Any]:
        return {"first": {**state["first"], "more": 1}, "seen": [1, 2]}

    builder = StateGraph(State).add_node("grow", grow).add_node("touch", touch)
    graph = builder.add_edge(START, "grow").add_edge("grow", "touch").compile(checkpointer=InMemorySaver())
    client = Client(graph, source=source)
    done = await client.send(typed("hi"), state={"first": "small"})
    assert done.types()[-1] == "RUN_FINISHED"
    verdict = judge([client.turn(done, state={"first": "small"})])
    assert verdict.state == {"seen": [1, 2]}
    again = await client.send(typed("more"), state=verdict.state)
    assert again.types()[-1] == "RUN_FINISHED"
    assert (await client.get("/threads/t1/state")).json["snapshot"]["first"]["more"] == 1
