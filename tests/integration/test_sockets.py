"""AG-UI over web sockets: several runs over one socket, who may open one, what limits it, and how it ends."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import re
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.support.graphs import chat
from tests.support.serving import call, run_body, talker
from tests.support.sockets import listening, tab
from yai_nexus_agentkit import AGUIAdapter, Hooks, RunContext
from yai_nexus_agentkit.server import Identity, ServerSettings, SocketSettings, create_app
from yai_nexus_agentkit.server.sockets.channel import Close
from yai_nexus_agentkit.testing import ScriptedChatModel

TALK = "TEXT_MESSAGE_CONTENT"


def app_of(graph: Any = None, *, sockets: SocketSettings | None = None, **settings: Any) -> Any:
    given = ServerSettings(sockets=sockets or SocketSettings(), **settings)
    return create_app(AGUIAdapter(graph or talker()), settings=given)


async def test_a_run_is_the_same_as_over_http(judge: Any) -> None:
    app = app_of()
    async with listening(app) as host, tab(host) as one:
        over_socket = await one.played()
    over_http = (await call(app_of(), "POST", "/", run_body())).events

    assert [event["type"] for event in over_socket] == [event["type"] for event in over_http]
    assert one.frames[-1]["done"] is True
    judge([over_socket])


async def test_runs_of_several_threads_share_a_socket() -> None:
    async with listening(app_of(talker(20, 0.02))) as host, tab(host) as one:
        slow = [await one.ask("run", thread=f"t{n}") for n in range(3)]
        await one.until(lambda: all(TALK in one.types(name) for name in slow))
        order = [frame["requestId"] for frame in one.frames if "requestId" in frame]

        assert len(set(order[: len(order) // 2])) == 3
        for name in slow:
            assert [event["type"] for event in await one.whole(name)][-1] == "RUN_FINISHED"
            assert one.text(name) == "".join(f"w{n} " for n in range(20))


async def test_another_socket_joins_the_run_and_sees_the_thread_later() -> None:
    async with listening(app_of(talker(30, 0.02))) as host, tab(host) as first, tab(host) as second:
        running = await first.ask("run")
        await first.until(lambda: TALK in first.types(running))
        joined = await second.ask("connect", None)
        await second.whole(joined)
        await first.whole(running)
        assert second.text(joined) == first.text(running)

        at_rest = await second.whole(await second.ask("connect", None))
    snapshot = next(event for event in at_rest if event["type"] == "MESSAGES_SNAPSHOT")
    assert [message["role"] for message in snapshot["messages"]] == ["user", "assistant"]


async def test_an_unknown_thread_is_empty() -> None:
    async with listening(app_of()) as host, tab(host) as one:
        name = await one.ask("connect", None)
        assert await one.whole(name) == []
        assert one.of(name) == [{"type": "events", "requestId": name, "events": [], "done": True}]


@pytest.mark.parametrize("by", ["request", "thread", "another socket", "http"])
async def test_a_run_is_cancelled(by: str) -> None:
    async with listening(app_of(talker(200, 0.02))) as host, tab(host) as one, tab(host) as other:
        running = await one.ask("run")
        await one.until(lambda: TALK in one.types(running))
        if by == "request":
            await one.send(type="cancel", requestId=running)
        elif by == "http":
            await call_over_http(host, "POST", "/threads/t1/cancel")
        else:
            who = one if by == "thread" else other
            await who.send(type="cancel", requestId="stop", threadId="t1")
            await who.until(lambda: who.is_over("stop"))
            assert who.of("stop") == [{"type": "done", "requestId": "stop", "status": "cancelling"}]

        assert (await one.whole(running))[-1]["outcome"] == {"type": "cancelled"}
        await one.send(type="cancel", requestId="again", threadId="t1")
        await one.until(lambda: one.is_over("again"))
        assert one.of("again")[0]["status"] == "idle"
        assert (await one.played("go on"))[-1]["type"] == "RUN_FINISHED"


async def call_over_http(host: str, method: str, path: str, body: Any = None) -> Any:
    import httpx

    async with httpx.AsyncClient(base_url=f"http://{host}") as client:
        return await client.request(method, path, json=body if body is not None else {})


@pytest.mark.parametrize("disconnect", ["cancel", "continue"])
@pytest.mark.parametrize("how", ["close", "leave"])
async def test_a_run_ends_with_its_socket_or_goes_on(disconnect: Any, how: str) -> None:
    app = app_of(talker(40, 0.02), disconnect=disconnect)
    async with listening(app) as host, tab(host) as one, tab(host) as other:
        running = await one.ask("run")
        await one.until(lambda: TALK in one.types(running))
        if how == "close":
            await one.close()
        else:
            await one.send(type="leave", requestId=running)
        if disconnect == "continue":
            await other.whole(joined := await other.ask("connect", None))
            assert other.text(joined) == "".join(f"w{n} " for n in range(40))
        else:
            async with asyncio.timeout(40):
                while app.state.agui.live:
                    await asyncio.sleep(0.02)
    assert app.state.agui.live == 0


async def test_a_page_comes_back_to_its_run_by_another_socket() -> None:
    async with listening(app_of(talker(40, 0.02), disconnect="continue")) as host:
        async with tab(host) as before:
            running = await before.ask("run")
            await before.until(lambda: TALK in before.types(running))
            before.socket.transport.abort()
        async with tab(host) as after:
            joined = await after.ask("connect", None)
            await after.whole(joined)
    assert after.text(joined) == "".join(f"w{n} " for n in range(40))


# ---------------------------------------------------------------- refusals

REFUSED = [
    pytest.param({"type": "run", "requestId": "x", "input": {}}, "x", 422, "INVALID_INPUT", id="no input"),
    pytest.param({"type": "run", "requestId": "x"}, "x", 422, "INVALID_INPUT", id="nothing"),
    pytest.param({"type": "run"}, None, 422, "INVALID_FRAME", id="no request id"),
    pytest.param({"type": "run", "requestId": 7}, None, 422, "INVALID_FRAME", id="a number as id"),
    pytest.param({"type": "dance", "requestId": "x"}, "x", 422, "INVALID_FRAME", id="unknown type"),
    pytest.param({"type": "cancel", "requestId": "x", "threadId": 5}, "x", 422, "INVALID_FRAME", id="thread id"),
    pytest.param({"type": "hello", "abilities": ["a b"]}, None, 422, "INVALID_FRAME", id="an ability"),
    pytest.param({"type": "hello", "abilities": ["a"] * 33}, None, 422, "INVALID_FRAME", id="many abilities"),
    pytest.param({"type": "hello", "device": "x" * 201}, None, 422, "INVALID_FRAME", id="a long name"),
    pytest.param({"type": "hello", "device": "a\x00"}, None, 422, "INVALID_FRAME", id="a control character"),
    pytest.param({"type": "hello", "abilities": "a"}, None, 422, "INVALID_FRAME", id="abilities as a text"),
    pytest.param({"type": "hello", "token": "t"}, None, 409, "IDENTIFIED", id="a second user"),
    pytest.param([1], None, 422, "INVALID_FRAME", id="a list"),
    pytest.param("{oops", None, 400, "INVALID_JSON", id="no JSON"),
]


@pytest.mark.parametrize(("frame", "request_id", "status", "code"), REFUSED)
async def test_a_frame_that_is_refused_leaves_the_socket_open(
    frame: Any, request_id: str | None, status: int, code: str
) -> None:
    async with listening(app_of()) as host, tab(host) as one:
        await one.socket.send(frame if isinstance(frame, str) else json.dumps(frame))
        refused = await one.frame("error")
        assert (refused.get("requestId"), refused["status"], refused["error"]["error"]) == (request_id, status, code)
        assert (await one.played())[-1]["type"] == "RUN_FINISHED"


async def test_a_busy_thread_and_an_id_in_use_are_refused() -> None:
    async with listening(app_of(talker(1000, 0.02))) as host, tab(host) as one:
        running = await one.ask("run")
        await one.until(lambda: TALK in one.types(running))
        busy = await one.ask("run")
        await one.until(lambda: one.is_over(busy))
        assert one.of(busy)[0]["error"]["error"] == "THREAD_BUSY"
        await one.send(type="run", requestId=running, input=run_body(thread="t2"))
        await one.frame("error")
        await one.until(lambda: any(f["type"] == "error" for f in one.of(running)))
        refused = next(f for f in one.of(running) if f["type"] == "error")
        assert refused["error"]["error"] == "REQUEST_EXISTS"
        assert TALK in one.types(running)


async def test_an_id_is_free_with_the_last_frame() -> None:
    async def slowly(run: RunContext, outcome: Any) -> None:
        await asyncio.sleep(0.5)

    adapter = AGUIAdapter(talker(), hooks=Hooks(after_run=slowly))
    async with listening(create_app(adapter)) as host, tab(host) as one:
        for number in (1, 2, 3):
            await one.send(type="run", requestId="same", input=run_body(thread=f"t{number}"))
            await one.until(lambda number=number: sum(f.get("done", False) for f in one.frames) == number)  # type: ignore[misc]
    assert not [frame for frame in one.frames if frame["type"] == "error"]


async def test_ping_is_answered_by_pong() -> None:
    async with listening(app_of()) as host, tab(host) as one:
        await one.send(type="ping")
        assert await one.frame("pong") == {"type": "pong"}
        await one.send(type="pong")
        assert (await one.played())[-1]["type"] == "RUN_FINISHED"


# ---------------------------------------------------------------- who it is


def by_token(request: HTTPConnection) -> Identity:
    """Anna comes with a bearer token or a cookie; nobody else."""
    given = request.headers.get("authorization") or request.cookies.get("session")
    if given in ("Bearer anna+/=", "anna"):
        return Identity(user="anna")
    if given == "Bearer bob":
        raise HTTPException(403)
    raise HTTPException(401)


TOKEN = "agui.token." + base64.urlsafe_b64encode(b"anna+/=").decode().rstrip("=")
KNOWN = [
    pytest.param({"headers": {"authorization": "Bearer anna+/="}}, None, id="header"),
    pytest.param({"headers": {"cookie": "session=anna"}}, None, id="cookie"),
    pytest.param({"subprotocols": ["agui", TOKEN]}, None, id="sub-protocol"),
    pytest.param({}, {"type": "hello", "token": "anna+/="}, id="first frame"),
]


@pytest.mark.parametrize(("given", "hello"), KNOWN)
async def test_a_user_is_known(given: Any, hello: Any) -> None:
    app = app_of(identity=by_token)
    async with listening(app) as host, tab(host, **given, ready=hello is None) as one:
        if hello:
            await one.send(**hello)
            await one.frame("connected")
        assert (await one.played())[-1]["type"] == "RUN_FINISHED"
        assert one.socket.subprotocol == ("agui" if "subprotocols" in given else None)
        (connection,) = await app.state.agui.connections.of("agent", "anna")
        assert connection.thread == "t1"
    assert await app.state.agui.connections.of("agent", "anna") == []


UNKNOWN = [
    pytest.param({}, {"type": "hello", "token": "eve"}, 4401, id="a wrong token"),
    pytest.param({}, {"type": "hello"}, 4401, id="no token"),
    pytest.param({}, {"type": "run", "requestId": "x", "input": run_body()}, 4401, id="a run first"),
    pytest.param({}, {"type": "hello", "token": "a\nb"}, 4401, id="a token with a line feed"),
    pytest.param({}, None, 4401, id="silence"),
    pytest.param({"path": "/ws?token=anna"}, None, 4401, id="a token in the address"),
    pytest.param({"subprotocols": ["agui", "agui.token.ZXZl"]}, None, 4401, id="a wrong sub-protocol"),
    pytest.param({"subprotocols": ["agui", "agui.token.!!"]}, None, 4401, id="no base64"),
    pytest.param({"headers": {"authorization": "Bearer bob"}}, None, 4403, id="not allowed"),
    pytest.param({"path": "/ws?abilities=a%20b"}, None, 4400, id="an ability in the address"),
    pytest.param({"path": "/ws?device=%00"}, None, 4400, id="a control character in the address"),
    pytest.param({"path": f"/ws?device={'x' * 201}"}, None, 4400, id="a long name in the address"),
    pytest.param({}, {"type": "hello", "token": "anna", "abilities": "a"}, 4400, id="a malformed hello"),
]


@pytest.mark.parametrize(("given", "hello", "code"), UNKNOWN)
async def test_nobody_is_let_in_who_is_not_known(given: Any, hello: Any, code: int) -> None:
    app = app_of(identity=by_token, sockets=SocketSettings(hello_within=0.3))
    async with listening(app) as host, tab(host, **given, ready=False) as one:
        if hello:
            await one.send(**hello)
        assert (await one.closed())[0] == code
        assert one.frames == []


async def test_an_identity_that_fails_is_a_fault_of_the_server(caplog: Any) -> None:
    def broken(request: HTTPConnection) -> Identity:
        raise RuntimeError("no database")

    async with listening(app_of(identity=broken)) as host, tab(host, ready=False) as one:
        assert await one.closed() == (1011, "")
    assert "no database" in caplog.text


ORIGINS = [
    pytest.param((), "https://evil.example", False, id="foreign"),
    pytest.param((), "null", False, id="a sandboxed page"),
    pytest.param(("https://app.example",), "https://app.example", True, id="allowed"),
    pytest.param(("https://app.example",), "https://app.example.evil", False, id="like an allowed one"),
    pytest.param((), "http://{host}", True, id="its own"),
    pytest.param((), None, True, id="no browser"),
]


@pytest.mark.parametrize(("cors", "origin", "opened"), ORIGINS)
async def test_pages_of_foreign_origins_open_no_socket(cors: Any, origin: str | None, opened: bool) -> None:
    async with listening(app_of(identity=by_token, cors=cors)) as host:
        headers = {"cookie": "session=anna"} | ({"origin": origin.format(host=host)} if origin else {})
        if opened:
            async with tab(host, headers=headers) as one:
                assert (await one.played())[-1]["type"] == "RUN_FINISHED"
        else:
            with pytest.raises(InvalidStatus) as refused:
                async with tab(host, headers=headers):
                    pass
            assert refused.value.response.status_code == 403


async def test_a_page_that_only_the_asterisk_allows_acts_without_the_users_cookie() -> None:
    async with listening(app_of(identity=by_token, cors=["*"], sockets=SocketSettings(hello_within=0.2))) as host:
        headers = {"cookie": "session=anna", "origin": "https://evil.example"}
        async with tab(host, headers=headers, ready=False) as one:
            assert (await one.closed())[0] == 4401
        async with tab(host, headers=headers, subprotocols=["agui", TOKEN]) as one:
            assert (await one.played())[-1]["type"] == "RUN_FINISHED"


# ---------------------------------------------------------------- limits


async def test_a_silent_client_is_asked_and_then_closed() -> None:
    async with listening(app_of(sockets=SocketSettings(ping=0.5))) as host:
        async with tab(host) as lively, tab(host) as silent:
            silent.send = ignored  # type: ignore[method-assign]
            assert await silent.closed() == (4408, "no answer to a ping")
            assert [f["type"] for f in silent.frames] == ["connected", "ping", "ping"]
            assert (await lively.played())[-1]["type"] == "RUN_FINISHED"


async def ignored(**frame: Any) -> None:
    """A client that answers nothing."""


async def test_too_many_frames_close_the_socket() -> None:
    async with listening(app_of(sockets=SocketSettings(frames_per_second=10))) as host, tab(host) as one:
        for _ in range(20):
            await one.send(type="pong")
        assert await one.closed() == (4429, "at most 10 frames per second")


async def test_too_many_runs_are_refused() -> None:
    sockets = SocketSettings(runs_per_second=2, max_requests=32)
    async with listening(app_of(sockets=sockets)) as host, tab(host) as one:
        names = [await one.ask("run", thread=f"t{n}") for n in range(4)]
        for name in names:
            await one.until(lambda name=name: one.is_over(name))  # type: ignore[misc]
        refused = [one.of(name)[0] for name in names if one.of(name)[0]["type"] == "error"]
        assert [(it["status"], it["error"]["error"]) for it in refused] == [(429, "OVERLOADED")] * 2


async def test_too_many_requests_at_once_are_refused() -> None:
    sockets = SocketSettings(max_requests=2)
    async with listening(app_of(talker(100, 0.02), sockets=sockets)) as host, tab(host) as one:
        names = [await one.ask("run", thread=f"t{n}") for n in range(3)]
        await one.until(lambda: one.is_over(names[2]))
        assert one.of(names[2])[0]["error"]["error"] == "OVERLOADED"


async def test_too_many_sockets_of_a_user_are_closed() -> None:
    app = app_of(sockets=SocketSettings(max_sockets_per_user=2))
    async with listening(app) as host, tab(host):
        async with tab(host):
            async with tab(host, ready=False) as third:
                assert await third.closed() == (4429, "too many sockets are open")
        async with tab(host) as fourth:
            assert (await fourth.played())[-1]["type"] == "RUN_FINISHED"


@pytest.mark.parametrize(("send", "code"), [(json.dumps("x" * 3000), 1009), (b"{}", 1003)], ids=["large", "binary"])
async def test_a_frame_of_a_wrong_kind_closes_the_socket(send: Any, code: int) -> None:
    async with listening(app_of(sockets=SocketSettings(max_frame=2000))) as host, tab(host) as one:
        await one.socket.send(send)
        assert (await one.closed())[0] == code


async def test_an_old_socket_shows_again_who_it_is() -> None:
    async with listening(app_of(talker(1000, 0.02), sockets=SocketSettings(max_age=1.5))) as host, tab(host) as one:
        await one.ask("run")
        assert await one.closed() == (4401, "show again who you are")


@pytest.mark.slow
async def test_a_slow_reader_is_dropped_and_resumes() -> None:
    large = ScriptedChatModel(script=lambda messages: ["x" * 20_000 for _ in range(600)], pause=0.001)
    app = app_of(chat(large), disconnect="continue", max_buffer=2000)
    async with listening(app, ws_per_message_deflate=False) as host, tab(host) as watching:
        tiny = {"compression": None, "max_queue": 1, "write_limit": 1, "sock": small_socket(host)}
        async with connect(f"ws://{host}/ws", **tiny) as slow:
            await slow.recv()
            await slow.send(json.dumps({"type": "run", "requestId": "q", "input": run_body()}))
            await slow.recv()  # and no further: what follows fills the buffers
            joined = await watching.ask("connect", None)
            await watching.whole(joined)
            assert len(watching.text(joined)) == 12_000_000
            frames = [json.loads(text) async for text in until_done(slow)]
        assert frames[-1]["events"][-1]["code"] == "OVERLOADED"
        async with tab(host) as after:
            assert (await after.whole(await after.ask("connect", None)))[-1]["type"] == "RUN_FINISHED"


def small_socket(host: str) -> socket.socket:
    """A connection whose buffer holds little."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    address, _, port = host.partition(":")
    made.connect((address, int(port)))
    return made


async def until_done(one: ClientConnection) -> AsyncIterator[str]:
    async for text in one:
        yield str(text)
        if '"done":true' in str(text):
            return


async def test_the_end_of_the_server_closes_sockets() -> None:
    async with AsyncExitStack() as stack:
        async with listening(app_of()) as host:
            one = await stack.enter_async_context(tab(host))
        assert (await one.closed())[0] == 1012


async def test_a_socket_is_logged_with_its_duration(caplog: Any) -> None:
    with caplog.at_level(logging.INFO, "yai_nexus_agentkit"):
        async with listening(app_of()) as host, tab(host) as one:
            name = (await one.frame("connected"))["connectionId"]
    assert f"web socket {name} of user '' (agent) is open" in caplog.text
    assert re.search(rf"web socket {name} was open for \d+\.\d{{3}} s", caplog.text)


async def test_without_sockets_there_is_no_route() -> None:
    app = create_app(AGUIAdapter(talker()), settings=ServerSettings(sockets=None))
    async with listening(app) as host:
        with pytest.raises(InvalidStatus):
            async with tab(host):
                pass


def test_the_page_lists_the_closing_codes() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "sockets.md").read_text()
    listed = {int(code) for code in re.findall(r"(?m)^\| (\d{4}) \|", page)}
    assert listed == {int(code) for code in Close} - {1000}


async def test_sockets_that_are_refused_are_counted() -> None:
    counted: list[tuple[str, str]] = []

    def meter(name: str, value: float, labels: Any) -> None:
        if name == "agui_rejected_total":
            counted.append((labels["status"], labels["code"]))

    def user_of(request: HTTPConnection) -> Identity:
        if request.headers.get("authorization") == "Bearer foe":
            raise PermissionError
        if "authorization" not in request.headers:
            raise HTTPException(401)
        return Identity(user="anna")

    async with listening(app_of(metrics=meter, identity=user_of)) as host:
        known = {"additional_headers": {"authorization": "Bearer anna"}}
        with pytest.raises(InvalidStatus):
            await connect(f"ws://{host}/ws", origin="http://evil.example", **known)
        for how, sent in (
            ({"additional_headers": {"authorization": "Bearer foe"}}, "{}"),
            ({}, '{"type": "ping"}'),
            (known, b"no text"),
            (known, '{"type": "run", "requestId": "r", "input": {}}'),
        ):
            async with connect(f"ws://{host}/ws", **how) as socket:
                with suppress(ConnectionClosed):
                    await socket.send(sent)
                    while json.loads(await socket.recv())["type"] != "error":
                        pass
    assert counted == [
        ("403", "FORBIDDEN"),
        ("4403", "FORBIDDEN"),
        ("4401", "UNIDENTIFIED"),
        ("1003", "NOT_TEXT"),
        ("422", "INVALID_INPUT"),
    ]
