"""A wire that is not AG-UI is served by the real server: its bodies, its stream, its last bytes, its refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.line_wire import LineWire
from tests.support.serving import call, post, run_body, served, talker
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.server import ServerSettings, add_agui_routes, create_app


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with served("tests.support.line_wire:application") as url, httpx.Client(base_url=url, timeout=30) as client:
        yield client


def lines(answer: httpx.Response) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer.text.splitlines() if line]


def test_a_run_has_the_wire_s_headers_lines_and_last_bytes(client: httpx.Client) -> None:
    answer = client.post("/echo", json={"thread": "a", "say": "hi"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/jsonl")
    assert answer.headers["x-lines"] == "1"
    assert "cache-control" not in answer.headers
    assert lines(answer) == [{"begin": "a"}, {"text": "1 hi"}, {"bye": "success"}]


def test_the_last_bytes_follow_an_error_too(client: httpx.Client) -> None:
    answer = client.post("/echo", json={"thread": "b", "say": "fail"})
    assert lines(answer) == [{"begin": "b"}, {"bye": "AGENT_ERROR"}]
    answer = client.post("/echo", json={"thread": "b2", "say": "unspeakable"})
    assert lines(answer) == [{"begin": "b2"}, {"bye": "ENCODING_ERROR"}]


def test_the_last_bytes_follow_a_cancellation_too(client: httpx.Client) -> None:
    with client.stream("POST", "/slow", json={"thread": "c", "say": "hi"}) as answer:
        received = answer.iter_lines()
        assert json.loads(next(received)) == {"begin": "c"}
        assert client.post("/slow/threads/c/cancel").status_code == 202
        assert json.loads([line for line in received if line][-1]) == {"bye": "CANCELLED"}


def test_silence_is_filled_with_the_wire_s_own_bytes(client: httpx.Client) -> None:
    answer = client.post("/silent", json={"thread": "d", "say": "hi"})
    assert answer.text.count("\n\n") >= 2
    assert lines(answer)[-1] == {"bye": "success"}


def test_the_parser_may_ask_for_the_thread_s_history(client: httpx.Client) -> None:
    assert lines(client.post("/echo", json={"thread": "e", "again": True}))[-1] == {"bye": "success"}
    client.post("/echo", json={"thread": "e2", "say": "question"})
    assert lines(client.post("/echo", json={"thread": "e2", "again": True}))[1] == {"text": "1 question"}


@pytest.mark.parametrize(
    ("say", "status", "body"),
    [
        ("hi", 200, {"text": "1 hi", "bye": "success"}),
        ("fail", 502, {"text": "", "bye": "AGENT_ERROR"}),
    ],
)
def test_an_answer_may_come_in_one_piece_with_the_status_of_its_end(
    client: httpx.Client, say: str, status: int, body: Any
) -> None:
    answer = client.post("/echo", json={"thread": f"f {say}", "say": say, "whole": True})
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json")
    assert answer.json() == body


@pytest.mark.parametrize(
    ("method", "path", "given", "status", "no"),
    [
        ("POST", "/echo", {"json": {"say": "hi"}}, 422, "INVALID_INPUT"),
        ("POST", "/echo", {"json": {"thread": 5, "say": "hi"}}, 422, "INVALID_INPUT"),
        ("POST", "/echo", {"json": {"thread": "g", "say": "teapot"}}, 418, "TEAPOT"),
        ("POST", "/echo", {"json": {"thread": "g", "say": "x" * 10_000}}, 413, "BODY_TOO_LARGE"),
        ("POST", "/echo", {"content": b"{", "headers": {"content-type": "application/json"}}, 400, "INVALID_JSON"),
        ("POST", "/echo", {"content": b"{}", "headers": {"content-type": "text/plain"}}, 415, "UNSUPPORTED_MEDIA_TYPE"),
        ("PUT", "/echo", {}, 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/nobody", {}, 404, "NOT_FOUND"),
        ("GET", "/echo/threads/unknown/state", {}, 404, "THREAD_NOT_FOUND"),
        ("GET", "/echo/threads?limit=0", {}, 422, "INVALID_QUERY"),
    ],
)
def test_every_refusal_has_the_wire_s_shape(
    client: httpx.Client, method: str, path: str, given: dict[str, Any], status: int, no: str
) -> None:
    answer = client.request(method, path, **given)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/jsonl")
    assert set(answer.json()) == {"no", "why", "at"}
    assert answer.json()["no"] == no


def test_a_busy_thread_is_refused_in_the_wire_s_shape(client: httpx.Client) -> None:
    with client.stream("POST", "/slow", json={"thread": "h", "say": "hi"}):
        answer = client.post("/slow", json={"thread": "h", "say": "hi"})
        assert (answer.status_code, answer.json()["no"]) == (409, "THREAD_BUSY")


async def test_agents_of_one_application_may_speak_different_wires() -> None:
    app = create_app(AGUIAdapter(talker(1)))
    add_agui_routes(app, AGUIAdapter(talker(1)), "/lines", wire=LineWire())
    assert (await post(app, run_body()).end()).types()[-1] == "RUN_FINISHED"
    answer = await call(app, "POST", "/lines", {"thread": "t", "say": "hi"})
    assert answer.body.splitlines()[-1] == b'{"bye": "success"}'
    assert (await call(app, "GET", "/lines/threads/x/state")).json["no"] == "THREAD_NOT_FOUND"


class Broken(LineWire):
    """Its encoder raises what no encoder should, at every event but `fine`."""

    def __init__(self, fine: str) -> None:
        super().__init__()
        self._fine = fine

    def parse(self, data: Any, history: Any, limits: Any) -> Any:
        posted = super().parse(data, history, limits)
        encoder: Any = posted.encoder()
        encode = encoder.encode

        def broken(event: Any) -> bytes:
            if event.type == self._fine:
                return bytes(encode(event))
            raise KeyError("swordfish")

        encoder.encode = broken
        return type(posted)(posted.run_input, lambda: encoder)


@pytest.mark.parametrize(
    ("fine", "lines"),
    [
        ("RUN_STARTED", [b'{"begin": "t"}', b'{"bye": "cut off"}']),
        ("RUN_ERROR", [b'{"bye": "AGENT_ERROR"}']),
        ("", [b'{"bye": "cut off"}']),
    ],
)
async def test_an_encoder_that_fails_ends_the_response(
    caplog: pytest.LogCaptureFixture, fine: str, lines: list[bytes]
) -> None:
    app = create_app(AGUIAdapter(talker(3)), settings=ServerSettings(), wire=Broken(fine))
    answer = await call(app, "POST", "/", {"thread": "t", "say": "hi"})
    assert answer.complete
    assert answer.body.splitlines() == lines
    again = await call(app, "POST", "/", {"thread": "t", "say": "hi"})
    assert again.status == 200, "the thread is free"
