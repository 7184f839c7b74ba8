"""Questions reach the right connection: real sockets to real processes, with all tabs on one worker and on two."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver

from tests.support.serving import run_body
from tests.support.socket_workers import app_of, build, two_workers
from tests.support.sockets import Tab, listening, tab
from tests.support.workers import Worker
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.runs.routing import Connection, Question
from yai_nexus_agentkit.server import create_app

GRACE = 1.5
_USERS = itertools.count()


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Worker]]:
    with two_workers(tmp_path_factory.mktemp("workers"), grace=GRACE) as both:
        yield both


@pytest.fixture(params=["one worker", "two workers"])
def hosts(request: pytest.FixtureRequest, workers: list[Worker]) -> tuple[str, str]:
    first, second = workers
    return first.host, (first if request.param == "one worker" else second).host


class User:
    """A user of this test alone, and their tabs."""

    def __init__(self, hosts: tuple[str, str]) -> None:
        self.hosts, self.headers = hosts, {"x-user": f"user{next(_USERS)}"}

    @asynccontextmanager
    async def tabs(self, *devices: str) -> AsyncIterator[list[Tab]]:
        """Tabs by ``device:ability+ability``; the first at one worker, the others at the other one."""
        async with AsyncExitStack() as stack:
            opened = []
            for number, named in enumerate(devices):
                device, _, abilities = named.partition(":")
                path = f"/ws?device={device}&abilities={abilities.replace('+', ',')}"
                host = self.hosts[min(number, 1)]
                opened.append(await stack.enter_async_context(tab(host, path, self.headers)))
            yield opened

    async def http(self, method: str, path: str, body: Any = None) -> httpx.Response:
        async with httpx.AsyncClient(base_url=f"http://{self.hosts[1]}", headers=self.headers) as client:
            return await client.request(method, path, json=body)


def interrupts(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    outcome = events[-1].get("outcome") or {}
    found: list[dict[str, Any]] = outcome.get("interrupts", [])
    return found


def elsewhere(events: list[dict[str, Any]]) -> list[Any]:
    return [event["value"] for event in events if event.get("name") == "waits_elsewhere"]


def answer(asked: list[dict[str, Any]], payload: Any) -> dict[str, Any]:
    return {"resume": [{"interruptId": one["id"], "status": "resolved", "payload": payload} for one in asked]}


async def looks(one: Tab, thread: str = "t1") -> list[dict[str, Any]]:
    return await one.whole(await one.ask("connect", None, thread=thread))


async def told(one: Tab, here: bool, thread: str = "t1") -> None:
    wanted = {"type": "thread", "threadId": thread, "status": "paused", "here": here}
    await one.until(lambda: wanted in one.frames)


def text_of(events: list[dict[str, Any]]) -> str:
    return "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


# ---------------------------------------------------------------- 1 and 2: another tab, another device


async def test_another_tab_goes_on_with_a_conversation(hosts: tuple[str, str]) -> None:
    user = User(hosts)
    async with user.tabs("laptop", "laptop", "phone") as (first, second, phone):
        await first.played("hello")
        running = await first.ask("run", "slow")
        await first.until(lambda: "TEXT_MESSAGE_CONTENT" in first.types(running))

        for joined in await asyncio.gather(looks(second), looks(phone)):
            snapshot = next(event for event in joined if event["type"] == "MESSAGES_SNAPSHOT")
            assert next(m["content"] for m in snapshot["messages"] if m["role"] == "user") == "hello"
            assert text_of(joined) == "".join(f"word{n} " for n in range(60))
        await first.whole(running)

        assert text_of(await second.played("and")).startswith("You said ")
        await first.until(lambda: any(f["type"] == "thread" and f["status"] == "running" for f in first.frames))
        assert text_of(await phone.played("more")).startswith("You said ")


async def test_connections_are_listed_for_their_user_alone(hosts: tuple[str, str]) -> None:
    user, other = User(hosts), User(hosts)
    async with user.tabs("laptop", "phone:camera+geolocation") as (laptop, phone), other.tabs("tablet"):
        await laptop.played("hello")
        listed = (await user.http("GET", "/connections")).json()
        assert [(one["device"], one["abilities"], one["threadId"]) for one in listed] == [
            ("laptop", [], "t1"),
            ("phone", ["camera", "geolocation"], ""),
        ]
        own = [(await one.frame("connected"))["connectionId"] for one in (laptop, phone)]
        assert [one["connectionId"] for one in listed] == own
        await phone.send(type="hello", device="watch", abilities=[])
        await phone.until(lambda: sum(frame["type"] == "connected" for frame in phone.frames) == 2)
        assert (await user.http("GET", "/connections")).json()[1]["device"] == "watch"
    async with asyncio.timeout(40):
        while (await user.http("GET", "/connections")).json():
            await asyncio.sleep(0.05)


# ---------------------------------------------------------------- 3: the source is asked


async def test_an_approval_goes_to_the_source_and_to_no_other(hosts: tuple[str, str]) -> None:
    async with User(hosts).tabs("laptop", "phone") as (source, other):
        await looks(other)
        asked = interrupts(await source.played("transfer"))
        assert len(asked) == 1
        await told(other, here=False)

        seen = await looks(other)
        assert interrupts(seen) == []
        (waits,) = elsewhere(seen)
        assert (waits["count"], waits["device"]) == (1, "laptop")
        assert waits["questions"][0]["message"] == asked[0]["message"]
        assert asked[0]["id"] not in str(other.frames)

        assert "moved 5" in str(await source.played(None, **answer(asked, {"approved": True})))


async def test_a_viewer_of_the_run_is_not_asked_either(hosts: tuple[str, str]) -> None:
    async with User(hosts).tabs("laptop", "phone") as (source, other):
        running = await source.ask("run", "transfer")
        seen = await looks(other)
        asked = interrupts(await source.whole(running))
        while not elsewhere(seen):  # it came before the run, or after it
            seen = await looks(other)
        assert interrupts(seen) == []
        assert len(asked) == 1


async def test_a_source_that_is_gone_is_waited_for_and_then_the_others_are_asked(hosts: tuple[str, str]) -> None:
    async with User(hosts).tabs("laptop", "phone") as (source, other):
        await looks(other)
        asked = interrupts(await source.played("transfer"))
        await source.close()
        assert interrupts(await looks(other)) == []
        await told(other, here=True)
        assert interrupts(await looks(other)) == asked
        assert "moved 5" in str(await other.played(None, **answer(asked, {"approved": True})))


async def test_a_source_that_comes_back_in_time_is_asked_again(hosts: tuple[str, str]) -> None:
    user = User(hosts)
    async with user.tabs("laptop", "phone") as (source, other):
        before = (await source.frame("connected"))["connectionId"]
        asked = interrupts(await source.played("transfer"))
        source.socket.transport.abort()
        await source.closed()
        async with tab(hosts[1], f"/ws?previous={before}", user.headers) as back:
            await told(back, here=True)
            await asyncio.sleep(GRACE * 1.5)
            assert interrupts(await looks(back)) == asked
            assert interrupts(await looks(other)) == []


async def test_nobody_takes_the_place_of_a_connection_of_another_user(hosts: tuple[str, str]) -> None:
    async with User(hosts).tabs("laptop") as (source,):
        before = (await source.frame("connected"))["connectionId"]
        await source.played("transfer")
        await source.close()
        async with tab(hosts[1], f"/ws?previous={before}", User(hosts).headers) as thief:
            assert await looks(thief) == []


async def test_a_question_waits_when_nobody_is_there(hosts: tuple[str, str]) -> None:
    user = User(hosts)
    async with user.tabs("laptop") as (source,):
        asked = interrupts(await source.played("transfer"))
    await asyncio.sleep(GRACE * 1.5)
    async with user.tabs("laptop", "phone") as (_, later):
        await told(later, here=True)
        assert interrupts(await looks(later)) == asked


async def test_plain_http_is_asked_and_may_answer(hosts: tuple[str, str]) -> None:
    user = User(hosts)
    async with user.tabs("laptop", "phone") as (source, other):
        await looks(other)
        asked = interrupts(await source.played("transfer"))
        shown = (await user.http("POST", "/connect", run_body(None, run="page"))).text
        assert asked[0]["id"] in shown
        done = (await user.http("POST", "/", run_body(None, run="answer", **answer(asked, {"approved": True})))).text
        assert "moved 5" in done
        await source.until(lambda: any(f.get("status") == "running" for f in source.frames))

        asked_by_http = (await user.http("POST", "/", run_body("transfer", run="more"))).text
        assert '"interrupts"' in asked_by_http
        assert len(interrupts(await looks(other))) == len(interrupts(await looks(source))) == 1


# ---------------------------------------------------------------- 4: a device that is able


async def test_a_tool_goes_to_the_device_that_has_the_ability(hosts: tuple[str, str]) -> None:
    async with User(hosts).tabs("laptop", "phone:geolocation", "tablet:camera") as (laptop, phone, tablet):
        seen = await laptop.played("locate")
        assert interrupts(seen) == []
        assert elsewhere(seen)[0]["device"] == "phone"
        await told(phone, here=True)

        asked = interrupts(await looks(phone))
        assert asked[0]["reason"] == "tool_call"
        assert asked[0]["metadata"]["langgraph"]["value"]["args"] == {"precise": True}
        done = await phone.played(None, **answer(asked, {"result": "Berlin"}))
        assert text_of(done) == "Result: Berlin."

        await laptop.until(lambda: any(f.get("status") == "running" for f in laptop.frames))
        assert "Result: Berlin." in str(await looks(laptop))
        assert not any(frame["type"] == "thread" for frame in tablet.frames)


async def test_a_device_that_could_not_do_it_says_why(hosts: tuple[str, str]) -> None:
    async with User(hosts).tabs("phone:geolocation") as (phone,):
        asked = interrupts(await phone.played("locate"))
        done = await phone.played(None, **answer(asked, {"error": "no signal"}))
        assert "could not do it: no signal" in text_of(done)


async def test_without_such_a_device_the_source_is_asked_until_one_comes(hosts: tuple[str, str]) -> None:
    user = User(hosts)
    async with user.tabs("laptop") as (laptop,):
        asked = interrupts(await laptop.played("wire"))
        assert len(asked) == 1
        async with tab(hosts[1], "/ws?device=phone&abilities=phone", user.headers) as phone:
            await told(phone, here=True)
            assert interrupts(await looks(phone)) == asked
            done = await phone.played(None, **answer(asked, {"approved": True}))
            assert text_of(done) == "Result: wired 7."


async def test_what_follows_an_answer_is_asked_where_the_turn_began(hosts: tuple[str, str]) -> None:
    async with User(hosts).tabs("laptop", "phone:geolocation") as (laptop, phone):
        await laptop.played("locate")
        asked = interrupts(await looks(phone))
        await phone.played(None, **answer(asked, {"result": "Rome"}))
        await laptop.played("transfer")
        assert interrupts(await looks(phone)) == []
        assert len(interrupts(await looks(laptop))) == 1


# ---------------------------------------------------------------- 5: two at once; two answers to one


async def test_two_tabs_answer_two_approvals_at_once(hosts: tuple[str, str]) -> None:
    async with User(hosts).tabs("laptop", "phone") as (one, two):
        asked = await asyncio.gather(one.played("transfer", thread="a"), two.played("transfer", thread="b"))
        first, second = map(interrupts, asked)
        assert first[0]["id"] != second[0]["id"]
        done = await asyncio.gather(
            one.played(None, thread="a", **answer(first, {"approved": True})),
            two.played(None, thread="b", **answer(second, {"approved": False})),
        )
        assert "moved 5" in text_of(done[0])
        assert "moved" not in text_of(done[1])


async def test_of_two_answers_the_first_wins_and_the_second_is_refused(hosts: tuple[str, str]) -> None:
    user = User(hosts)
    async with user.tabs("laptop", "phone") as (one, two):
        asked = interrupts(await one.played("transfer"))
        yes, no = answer(asked, {"approved": True}), answer(asked, {"approved": False})
        assert "moved 5" in text_of(await one.played(None, **yes))

        late = await two.ask("run", None, **no)
        await two.until(lambda: two.is_over(late))
        (refused,) = two.of(late)
        assert (refused["status"], refused["error"]["error"]) == (409, "ALREADY_ANSWERED")
        over_http = await user.http("POST", "/", run_body(None, run="late", **no))
        assert (over_http.status_code, over_http.json()["detail"]["error"]) == (409, "ALREADY_ANSWERED")

        again = await one.played(None, **yes)  # a client that lost the response sends the same once more
        assert again[-1]["type"] == "RUN_FINISHED"


async def test_an_answer_that_is_refused_may_be_followed_by_another(hosts: tuple[str, str]) -> None:
    async with User(hosts).tabs("laptop") as (one,):
        asked = interrupts(await one.played("transfer"))
        wrong = await one.played(None, **answer(asked, "maybe"))
        assert wrong[-1]["code"] == "INVALID_RESUME"
        assert "moved 5" in text_of(await one.played(None, **answer(asked, {"approved": True})))


async def test_two_answers_at_the_same_time_move_money_once(hosts: tuple[str, str]) -> None:
    user = User(hosts)
    async with user.tabs("laptop", "phone") as (one, two):
        asked = interrupts(await one.played("transfer"))
        names = await asyncio.gather(
            one.ask("run", None, **answer(asked, {"approved": True})),
            two.ask("run", None, **answer(asked, {"approved": False})),
        )
        for who, name in zip((one, two), names, strict=True):
            await who.until(lambda who=who, name=name: who.is_over(name))  # type: ignore[misc]
        ends = [who.of(name)[-1] for who, name in zip((one, two), names, strict=True)]
        refused = [end for end in ends if end["type"] == "error" or end["events"][-1]["type"] == "RUN_ERROR"]
        assert len(refused) == 1, ends


async def test_another_user_cannot_answer(hosts: tuple[str, str]) -> None:
    async with User(hosts).tabs("laptop") as (source,), User(hosts).tabs("laptop") as (thief,):
        asked = interrupts(await source.played("transfer"))
        assert "moved" not in str(await thief.played(None, **answer(asked, {"approved": True})))
        assert interrupts(await looks(source)) == asked


async def test_calls_of_the_clients_tools_are_the_sources_too(hosts: tuple[str, str]) -> None:
    tools = [{"name": "confirm", "description": "asks", "parameters": {"type": "object", "properties": {}}}]
    async with User(hosts).tabs("laptop", "phone") as (source, other):
        running = await source.ask("run", "slow confirm", tools=tools)
        await source.until(lambda: "TEXT_MESSAGE_CONTENT" in source.types(running))
        theirs = await looks(other)
        (call,) = (await source.whole(running))[-1]["outcome"]["pendingToolCallIds"]
        assert "outcome" not in theirs[-1]
        assert elsewhere(theirs)[0]["questions"] == [{"reason": "tool_call", "message": None, "toolCallId": call}]


# ---------------------------------------------------------------- other policies and settings, in this process


@asynccontextmanager
async def three(**settings: Any) -> AsyncIterator[list[Tab]]:
    """A laptop, a phone that may approve, and a tablet."""
    async with listening(app_of(InMemorySaver(), **settings)) as host, AsyncExitStack() as stack:
        names = ["laptop", "phone&abilities=approve", "tablet"]
        yield [await stack.enter_async_context(tab(host, f"/ws?device={name}")) for name in names]


def tablets(question: Question, connections: Sequence[Connection]) -> list[str]:
    return [one.id for one in connections if one.device == "tablet"]


@pytest.mark.parametrize(
    ("policy", "devices"),
    [("source", [0]), ("all", [0, 1, 2]), ("ability", [1]), (tablets, [2])],
    ids=["source", "all", "ability", "function"],
)
async def test_the_policy_decides(policy: Any, devices: list[int]) -> None:
    async with three(approvals=policy) as tabs:
        seen = [await tabs[0].played("transfer"), await looks(tabs[1]), await looks(tabs[2])]
        assert [number for number, events in enumerate(seen) if interrupts(events)] == devices
        for number in set(devices) - {0}:
            await tabs[number].until(lambda number=number: tabs[number].frames)  # type: ignore[misc]
        asked = interrupts(seen[devices[0]])
        assert "moved 5" in str(await tabs[devices[0]].played(None, **answer(asked, {"approved": True})))


async def test_what_is_asked_elsewhere_can_be_hidden() -> None:
    async with three(show_elsewhere=False) as (laptop, phone, _):
        asked = interrupts(await laptop.played("transfer"))
        (waits,) = elsewhere(await looks(phone))
        assert waits == {"count": 1, "device": "laptop"}
        assert asked[0]["message"] not in str(phone.frames)


@pytest.mark.parametrize("source", ["events", "callbacks"])
@pytest.mark.parametrize("interrupts_as", ["outcome", "custom", "both"])
async def test_questions_in_each_form_are_kept_from_the_others(source: Any, interrupts_as: Any) -> None:
    options = AdapterOptions(source=source, interrupts=interrupts_as)
    app = create_app(AGUIAdapter(build(InMemorySaver()), options=options))
    async with listening(app) as host, tab(host) as asking, tab(host) as other:
        running = await asking.ask("run", "transfer")
        during = await looks(other)
        seen = await asking.whole(running)
        shown = [event for event in seen if event.get("name") == "on_interrupt"]
        assert (len(shown), len(interrupts(seen))) == (interrupts_as != "outcome", interrupts_as != "custom")
        for theirs in (during, await looks(other)):
            assert not [event for event in theirs if event.get("name") == "on_interrupt"]
            assert interrupts(theirs) == []
        assert elsewhere(await looks(other))[0]["count"] == 1
