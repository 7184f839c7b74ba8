"""No request stops the server: what is small stays cheap, what is large is bounded, what hangs is given up.

The attacks are those that once blocked the loop for seconds or took gigabytes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from tests.support.attacked import Hung
from tests.support.attacks import ATTACKS, HEAD, PREFIX, times
from tests.support.serving import JSON, Exchange, call, living, post, run_body, served, talker
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.runs.index import MemoryThreadIndex
from yai_nexus_agentkit.runs.locks import MemoryThreadLocks
from yai_nexus_agentkit.server import Identity, ServerSettings, create_app

MOST = 0.1
"""Seconds of CPU time for which parsing or validating may keep the loop waiting."""


class Target:
    """A server process under attack."""

    def __init__(self, url: str, client: httpx.Client) -> None:
        self.url, self._client = url, client

    def pause(self) -> float:
        """The longest time for which the loop did nothing since the last call."""
        return float(self._client.get("/heartbeat").json()["worst"])

    def send(self, method: str, path: str, body: str | bytes) -> httpx.Response:
        return self._client.request(method, path, content=body, headers=JSON)

    def attack(self, method: str, path: str, body: str | bytes) -> tuple[httpx.Response, float]:
        """The answer, and the loop's pause: the least of three tries if one is too long, since noise only adds."""
        pauses = []
        while len(pauses) < 3:
            self.pause()
            answer = self.send(method, path, body)
            pauses.append(self.pause())
            if pauses[-1] < MOST:
                break
        return answer, min(pauses)


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with served("tests.support.attacked:watched") as url, httpx.Client(base_url=url, timeout=60) as client:
        target = Target(url, client)
        target.send("POST", "/talk", json.dumps(run_body(thread="patched")))
        yield target


# ---------------------------------------------------------------- small requests, large effects


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_answered_and_the_loop_goes_on(target: Target, name: str) -> None:
    method, body, status = ATTACKS[name]
    path = "/read" if method == "POST" else "/talk/threads/patched/state"
    answer, pause = target.attack(method, path, body())
    assert answer.status_code == status, answer.text[:300]
    assert len(answer.content) < 2_000
    assert pause < MOST


VALUES = st.recursive(
    st.sampled_from(["1", "-0.5", "null", "true", '"x"', '"#"', '"é\\ud83d\\n"', "{}", "[]", "12345678901234567890"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.lists(inner, max_size=3).map(
            lambda items: "{" + ", ".join(f'"{n}": {item}' for n, item in enumerate(items)) + "}"
        ),
    ),
    max_leaves=5,
)
USER = '{"id": "m#", "role": "user", "content": @}'
PLACES = [
    PREFIX + ', "messages": [], "state": [@]}',
    PREFIX + ', "messages": [], "forwardedProps": {"a": [@]}}',
    PREFIX + ', "messages": [@]}',
    PREFIX + ', "messages": [{"id": "m", "role": "user", "content": [@]}]}',
    PREFIX + ', "messages": [{"id": "m", "role": "assistant", "toolCalls": [@]}]}',
    PREFIX + ', "messages": [], "tools": [@]}',
    PREFIX + ', "messages": [], "context": [@]}',
    PREFIX + ', "messages": [], "resume": [@]}',
    "[@]",
    "@",
]
UNITS = st.one_of(
    VALUES,
    VALUES.map(lambda value: USER.replace("@", value)),
    VALUES.map(lambda value: f'{{"id": "same", "role": "narrator", "content": {value}}}'),
    VALUES.map(lambda value: f'{{"op": "add", "path": "/notes/#", "value": {value}}}'),
    VALUES.map(lambda value: f'{{"op": "copy", "from": "/notes", "path": "/notes/#", "value": {value}}}'),
    VALUES.map(lambda value: f'{{"type": "image", "source": {value}}}'),
)


@given(place=st.sampled_from(PLACES), unit=UNITS)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_grows_the_loop_goes_on(target: Target, place: str, unit: str) -> None:
    """A body of any shape, ten times larger each time, up to the limit of bytes."""
    for size in (2_000, 20_000, 200_000, 3_900_000):
        body = place.replace("@", times(1 + size // (len(unit) + 3), unit))
        for method, path in (("POST", "/read"), ("PATCH", "/talk/threads/patched/state")):
            answer, pause = target.attack(method, path, body)
            assert answer.status_code < 500, (method, place, unit, size, answer.text[:300])
            assert pause < MOST, (method, place, unit, size, pause)


def test_threads_that_sleep_do_not_delay_reading(target: Target) -> None:
    """Sync nodes whose clients are gone keep the threads of the loop's executor; parsing has its own."""
    place = urlsplit(target.url)
    for n in range(40):
        body = json.dumps(run_body(thread=f"s{n}")).encode()
        with socket.create_connection((place.hostname or "", place.port or 0)) as gone:
            gone.sendall(HEAD.replace("PATH", "sleep").replace("SIZE", str(len(body))).encode() + body)
            gone.recv(1)
    began = time.perf_counter()
    answer = target.send("POST", "/read", json.dumps(run_body(state={"text": "x" * 300_000})))
    assert answer.status_code == 200
    assert time.perf_counter() - began < 2


# ---------------------------------------------------------------- bodies that do not end


def unfinished(target: Target, sent: int) -> socket.socket:
    place = urlsplit(target.url)
    held = socket.create_connection((place.hostname or "", place.port or 0))
    held.sendall(HEAD.replace("PATH", "read").replace("SIZE", "3900000").encode() + b" " * sent)
    return held


def test_a_body_that_does_not_arrive_is_given_up(target: Target) -> None:
    with unfinished(target, 100) as held:
        held.settimeout(20)
        answer = b""
        while chunk := held.recv(65536):  # until the server closes
            answer += chunk
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"BODY_TIMEOUT" in answer


def test_unfinished_bodies_count(target: Target) -> None:
    """There is room for three of the largest; a fourth is refused until one of them is gone."""
    held: list[socket.socket] = []
    with ThreadPoolExecutor(4) as pool:
        held = list(pool.map(lambda n: unfinished(target, 3_800_000), range(4)))
        answers = list(pool.map(lambda one: one.recv(20), held))
    for one in held:
        one.close()
    assert sorted(answer[9:12] for answer in answers) == [b"408", b"408", b"408", b"429"]
    assert target.send("POST", "/read", json.dumps(run_body())).status_code == 200


async def test_bodies_that_do_not_arrive_take_no_run_s_place() -> None:
    app = create_app(AGUIAdapter(talker(1)), settings=ServerSettings(max_runs=1, max_runs_per_user=1, body_timeout=0.5))
    slow = [Exchange(app, "POST", "/", [b"{"], JSON, cut_off=True) for _ in range(2)]
    await asyncio.sleep(0.05)
    assert (await call(app, "POST", "/", run_body())).status == 200
    assert [(await exchange.end()).status for exchange in slow] == [408, 408]


REFUSALS: Sequence[tuple[str, str, Any, dict[str, str], dict[str, str]]] = [
    ("POST", "/", {}, {}, {"status": "422", "code": "INVALID_INPUT", "agent": "agent"}),
    ("POST", "/", b"{", JSON, {"status": "400", "code": "INVALID_JSON", "agent": "agent"}),
    (
        "POST",
        "/",
        b"{}",
        {"content-type": "text/plain"},
        {"status": "415", "code": "UNSUPPORTED_MEDIA_TYPE", "agent": "agent"},
    ),
    ("PUT", "/", None, {}, {"status": "405", "code": "METHOD_NOT_ALLOWED", "agent": "agent"}),
    ("GET", "/threads?limit=0", None, {}, {"status": "422", "code": "INVALID_QUERY", "agent": "agent"}),
    ("GET", "/threads/none/state", None, {}, {"status": "404", "code": "THREAD_NOT_FOUND", "agent": "agent"}),
    ("GET", "/threads", None, {"who": "nobody"}, {"status": "401", "code": "UNAUTHORIZED", "agent": "agent"}),
    ("GET", "/threads", None, {"who": "foe"}, {"status": "403", "code": "FORBIDDEN", "agent": "agent"}),
    ("GET", "/threads", None, {"who": "fault"}, {"status": "500", "code": "INTERNAL_ERROR", "agent": "agent"}),
    ("GET", "/threads", None, {"host": "evil"}, {"status": "403", "code": "FORBIDDEN", "agent": ""}),
    ("GET", "/nowhere/at/all", None, {}, {"status": "404", "code": "NOT_FOUND", "agent": ""}),
    ("POST", "/v1/chat/completions", {}, {}, {"status": "400", "code": "INVALID_INPUT", "agent": "agent"}),
    ("GET", "/v1/nothing", None, {}, {"status": "404", "code": "NOT_FOUND", "agent": "agent"}),
    ("POST", "/ai", {}, {}, {"status": "422", "code": "INVALID_INPUT", "agent": "agent"}),
    ("POST", "/pilot/agent/x/run", {}, {}, {"status": "404", "code": "AGENT_NOT_FOUND", "agent": "default"}),
]


async def test_every_refusal_is_counted_once_by_its_status_and_code() -> None:
    counted: list[Mapping[str, str]] = []

    def meter(name: str, value: float, labels: Mapping[str, str]) -> None:
        if name == "agui_rejected_total":
            counted.append(dict(labels))

    def user_of(request: Any) -> Identity:
        match request.headers.get("who"):
            case "nobody":
                raise HTTPException(401)
            case "foe":
                raise PermissionError
            case "fault":
                raise RuntimeError("no such table: users")
        return Identity()

    settings = ServerSettings(metrics=meter, identity=user_of, hosts=["server"])
    app = create_app(AGUIAdapter(talker(1)), settings=settings, openai="/v1", ai_sdk="/ai", copilotkit="/pilot")
    async with living(app):
        for method, path, body, headers, _ in REFUSALS:
            await call(app, method, path, body, {"host": "server", **headers})
    assert counted == [labels for *_, labels in REFUSALS]


async def test_every_refusal_of_a_limit_or_a_busy_thread_is_counted_once() -> None:
    counted: Counter[str] = Counter()

    def meter(name: str, value: float, labels: Mapping[str, str]) -> None:
        if name == "agui_rejected_total":
            counted[f"{labels['status']} {labels['code']}"] += int(value)

    limits = ServerSettings(max_runs=1, max_body=64 * 1024, max_bodies=64 * 1024, metrics=meter)
    app = create_app(AGUIAdapter(talker(2, 0.5)), settings=limits)
    running = await post(app, run_body()).until(lambda it: it.writes)
    assert (await call(app, "POST", "/", run_body(thread="t2"))).status == 429
    assert counted == {"429 OVERLOADED": 1}
    for method, path in (("PATCH", "/threads/t1/state"), ("DELETE", "/threads/t1")):
        refused = await call(app, method, path, [] if method == "PATCH" else None)
        assert (refused.status, refused.headers["retry-after"]) == (409, "2")
    assert counted == {"429 OVERLOADED": 1, "409 THREAD_BUSY": 2}
    await running.end()
    slow = Exchange(app, "PATCH", "/threads/t1/state", [b"["], JSON, cut_off=True)
    await asyncio.sleep(0.05)
    assert (await call(app, "POST", "/", run_body(run="r2"))).status == 429
    assert (await call(app, "PATCH", "/threads/t1/state", [])).status == 429
    slow.disconnect()
    assert (await slow.end()).status == 400
    assert counted.pop("400 BAD_REQUEST") == 1
    assert counted == {"429 OVERLOADED": 3, "409 THREAD_BUSY": 2}
    held = asyncio.create_task(post(app, run_body(run="r3")).end())
    await asyncio.sleep(0.2)
    app.state.agui.capacity.total = None
    assert (await call(app, "POST", "/", run_body(run="r4"))).status == 409
    assert counted == {"429 OVERLOADED": 3, "409 THREAD_BUSY": 3}
    await held


# ---------------------------------------------------------------- storage that hangs


OUTSIDE = [
    ("PATCH", "/threads/t1/state", [{"op": "add", "path": "/count", "value": 7}], True),
    ("DELETE", "/threads/t1", None, False),
    ("GET", "/threads/t1/messages", None, False),
    ("GET", "/threads/t1/media/" + "0" * 32, None, False),
    ("GET", "/threads/t1/state", None, False),
    ("POST", "/threads/t1/cancel", None, False),
    ("POST", "/agents/state", {"threadId": "t1"}, False),
]
"""Requests to the storage of threads that are no runs, and whether they write."""


@pytest.mark.parametrize(("method", "path", "body", "writes"), OUTSIDE)
async def test_a_storage_that_hangs_holds_no_thread(method: str, path: str, body: Any, writes: bool) -> None:
    saver = Hung()
    app = create_app(
        AGUIAdapter(talker(1, checkpointer=saver)), settings=ServerSettings(store_timeout=0.3, seed_paths=True)
    )
    await call(app, "POST", "/", run_body())
    saver.hanging = True
    answer = await call(app, method, path, body)
    assert (answer.status, answer.error) == (504, "STORE_TIMEOUT")
    saver.hanging = False
    assert (await call(app, "POST", "/", run_body("again", run="r2"))).types()[-1] == "RUN_FINISHED"


@pytest.mark.parametrize("cancelled", ["aget_tuple", "aput"])
@pytest.mark.parametrize(("method", "path", "body", "writes"), OUTSIDE)
async def test_a_storage_that_cancels_its_work_is_a_failure(
    method: str, path: str, body: Any, writes: bool, cancelled: str
) -> None:
    saver = Hung()
    app = create_app(AGUIAdapter(talker(1, checkpointer=saver)), settings=ServerSettings(seed_paths=True))
    await call(app, "POST", "/", run_body())
    saver.cancelled = cancelled
    answer = await call(app, method, path, body)
    if writes or cancelled == "aget_tuple":
        assert (answer.status, answer.error) == (500, "INTERNAL_ERROR")
    saver.cancelled = ""
    assert not app.state.agui.holders
    if method != "DELETE":
        assert (await call(app, "GET", "/threads/t1/state")).json["snapshot"]["count"] == 1


@pytest.mark.parametrize("cancelled", ["aget_tuple", "aput"])
@pytest.mark.parametrize("source", ["events", "callbacks"])
@pytest.mark.parametrize("durability", [None, "sync", "exit"])
async def test_a_run_whose_storage_cancels_its_work_ends_with_an_error(
    source: Any, durability: Any, cancelled: str
) -> None:
    saver = Hung()
    options = AdapterOptions(source=source, durability=durability)
    app = create_app(AGUIAdapter(talker(1, checkpointer=saver), options=options))
    saver.cancelled = cancelled
    assert (await call(app, "POST", "/", run_body())).types()[-1] == "RUN_ERROR"
    saver.cancelled = ""
    assert (await call(app, "POST", "/", run_body(run="r2"))).types()[-1] == "RUN_FINISHED"


async def test_an_operation_that_hangs_can_be_cancelled() -> None:
    saver = Hung()
    app = create_app(AGUIAdapter(talker(1, checkpointer=saver)))
    await call(app, "POST", "/", run_body())
    saver.hanging = True
    hung = asyncio.create_task(call(app, "PATCH", "/threads/t1/state", [{"op": "remove", "path": "/count"}]))
    await asyncio.sleep(0.1)
    assert (await call(app, "POST", "/threads/t1/cancel")).status == 202
    answer = await hung
    assert (answer.status, answer.error) == (409, "CANCELLED")
    assert not app.state.agui.holders


@pytest.mark.parametrize("hangs", ["acquire", "release"])
async def test_locks_that_hang_are_given_up(hangs: str) -> None:
    class Locks(MemoryThreadLocks):
        hanging = False

        async def acquire(self, key: str, holder: str, *, lease: float, wait: float = 0.0) -> bool:
            await asyncio.sleep(60 if self.hanging and hangs == "acquire" else 0)
            return await super().acquire(key, holder, lease=lease, wait=wait)

        async def release(self, key: str, holder: str) -> bool:
            await asyncio.sleep(60 if self.hanging and hangs == "release" else 0)
            return await super().release(key, holder)

    locks = Locks()
    limits = ServerSettings(locks=locks, store_timeout=0.2, ending_wait=0.2)
    app = create_app(AGUIAdapter(talker(1)), settings=limits)
    await call(app, "POST", "/", run_body())
    locks.hanging = True
    async with asyncio.timeout(5):
        answer = await call(app, "DELETE", "/threads/t1")
    assert (answer.status, answer.error) == (504, "STORE_TIMEOUT")
    assert not app.state.agui.holders


async def test_an_operation_may_be_cancelled_again_while_it_ends() -> None:
    class Slow(Hung):
        async def aget_tuple(self, config: Any) -> Any:
            try:
                return await super().aget_tuple(config)
            finally:
                await asyncio.sleep(0.2 if self.hanging else 0)

    saver = Slow()
    app = create_app(AGUIAdapter(talker(1, checkpointer=saver)))
    await call(app, "POST", "/", run_body())
    saver.hanging = True
    hung = asyncio.create_task(call(app, "PATCH", "/threads/t1/state", [{"op": "remove", "path": "/count"}]))
    await asyncio.sleep(0.1)
    for _ in range(3):
        assert (await call(app, "POST", "/threads/t1/cancel")).status == 202
        await asyncio.sleep(0.05)
    answer = await hung
    assert (answer.status, answer.error) == (409, "CANCELLED")
    assert not app.state.agui.holders


@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_patch_that_is_being_stored_is_stored_as_a_whole(cancelled: bool) -> None:
    """A time limit or a cancellation that comes meanwhile comes too late."""
    saver = Hung()
    app = create_app(
        AGUIAdapter(talker(1, checkpointer=saver)), settings=ServerSettings(store_timeout=30 if cancelled else 0.5)
    )
    await call(app, "POST", "/", run_body())
    saver.slow = True
    operations = [{"op": "replace", "path": "/count", "value": 7}, {"op": "remove", "path": "/notes"}]
    patch = asyncio.create_task(call(app, "PATCH", "/threads/t1/state", operations))
    await asyncio.sleep(0.5)
    if cancelled:
        assert (await call(app, "POST", "/threads/t1/cancel")).status == 202
    assert (await patch).status == 200
    assert (await call(app, "GET", "/threads/t1/state")).json["snapshot"] == {"count": 7}
    assert not app.state.agui.holders


# ---------------------------------------------------------------- memory and logs


async def test_the_list_of_threads_is_bounded() -> None:
    app = create_app(AGUIAdapter(talker(1)), settings=ServerSettings(index=MemoryThreadIndex(most=3)))
    for n in range(5):
        await call(app, "POST", "/", run_body(thread=f"t{n}"))
    listed = (await call(app, "GET", "/threads")).json
    assert [entry["threadId"] for entry in listed] == ["t4", "t3", "t2"]


async def test_what_is_dropped_of_a_request_fills_no_log(caplog: pytest.LogCaptureFixture) -> None:
    messages = [{"id": f"m{n}" * 1_000, "role": "r" * 10_000, "content": "x"} for n in range(300)]
    parts = [{"type": "t" * 10_000} for _ in range(100)]
    messages += [{"id": "same" * 1_000, "role": "user", "content": parts}] * 2
    with caplog.at_level(logging.INFO, "yai_nexus_agentkit"):
        assert (await call(create_app(AGUIAdapter(talker(1))), "POST", "/", run_body(messages=messages))).status == 200
    assert len(caplog.text) < 10_000
    assert "further losses" in caplog.text


async def test_half_an_emoji_in_an_id_is_replaced() -> None:
    app = create_app(AGUIAdapter(talker(1)), settings=ServerSettings(seed_paths=True))
    half = b'{"threadId": "\\ud83d"}'
    answer = await Exchange(app, "POST", "/agents/state", half, JSON).end()
    assert (answer.status, answer.json["threadId"]) == (200, "\ufffd")


# ---------------------------------------------------------------- foreign pages


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 404),  # no browser
        ({"origin": "http://own.example", "host": "own.example"}, 404),
        ({"origin": "https://app.example", "host": "own.example"}, 404),  # allowed by `cors`
        ({"origin": "https://proxied.example", "host": "internal", "sec-fetch-site": "same-origin"}, 404),
        ({"origin": "https://evil.example", "content-type": "application/json", "host": "own.example"}, 404),
        ({"origin": "https://evil.example", "host": "own.example"}, 403),
        ({"origin": "https://evil.example", "host": "own.example", "content-type": "text/plain"}, 403),
        ({"origin": "http://own.example:8080", "host": "own.example:8080"}, 404),
        ({"origin": "http://own.example:8080", "host": "own.example"}, 403),  # a proxy dropped the port
        ({"origin": "null", "host": "own.example"}, 403),
        ({"origin": "http://[", "host": "["}, 403),
    ],
)
async def test_a_foreign_page_cannot_cancel_with_the_user_s_cookies(headers: dict[str, str], status: int) -> None:
    app = create_app(AGUIAdapter(talker(1)), settings=ServerSettings(cors=["https://app.example"]))
    answer = await Exchange(app, "POST", "/threads/t1/cancel", b"", headers).end()
    assert answer.status == status


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8000", 200),
        ("LOCALHOST", 200),
        ("[::1]:8000", 200),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("[", 403),
        ("", 403),
    ],
)
async def test_only_known_names_of_the_server_are_answered(host: str, status: int) -> None:
    app = create_app(AGUIAdapter(talker(1)), settings=ServerSettings(hosts=["LocalHost", "::1"]))
    async with living(app):
        assert (await call(app, "GET", "/health", None, {"host": host})).status == status
        assert (await post(app, run_body(), headers={"host": host}).end()).status == status


@pytest.mark.parametrize("name", ["localhost:8000", "[::1]", "http://localhost", "*", ""])
def test_a_name_that_no_host_header_has_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="without port and brackets"):
        ServerSettings(hosts=["localhost", name])


@pytest.mark.parametrize("largest", [1_000, 100_000])
async def test_there_is_room_for_one_body(largest: int) -> None:
    least = max(largest, 64 * 1024)
    with pytest.raises(ValueError, match=f"room for one body, {least}, not"):
        ServerSettings(max_body=largest, max_bodies=least - 1)
    app = create_app(AGUIAdapter(talker(1)), settings=ServerSettings(max_body=largest, max_bodies=least))
    assert (await call(app, "POST", "/", run_body())).status == 200
