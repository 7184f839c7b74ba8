"""Driver. People who talk to a graph: each has an official client on a thread, which must show what the thread holds.

A `Tab` is one client with its own copy of the conversation. What a person does (say, answer, edit, regenerate) becomes
a request as that client would make it; the events go through the official client, and what it then shows is compared
with the thread, after every turn.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pytest
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.pregel import Pregel
from langgraph.types import StateSnapshot

from tests.support.conformance import verdict
from tests.support.verifier import ClientRun
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.adapter.langgraph.messages.convert import to_agui
from yai_nexus_agentkit.adapter.run_context import Hooks
from yai_nexus_agentkit.protocol.activities import CITATIONS, MEDIA
from yai_nexus_agentkit.protocol.json.json_safe import json_safe
from yai_nexus_agentkit.testing import Run, WireEvent, record, run_input, wire

__all__ = ["EACH_PEER", "PEERS", "Peer", "Shown", "Tab", "held", "is_applications", "spoken"]


@dataclass(frozen=True, slots=True)
class Peer:
    """A client generation, and the source that serves it here: each source meets each test once."""

    client: Literal["1.0.0", "0.0.59"]
    version: str | None
    """The protocol version in its requests."""
    source: Literal["events", "callbacks"]


PEERS = {"1.0.0": Peer("1.0.0", "1.0", "events"), "0.0.59": Peer("0.0.59", None, "callbacks")}

EACH_PEER = [pytest.mark.usefixtures("verifier"), pytest.mark.parametrize("peer", PEERS.values(), ids=PEERS)]
"""``pytestmark`` of a module whose tests take `peer`."""

Shown = dict[str, Any]
"""A message as people see it: what `spoken` keeps of it."""


class Tab:
    """One client on a thread of a graph. It keeps what the official client shows after each run."""

    def __init__(
        self,
        graph: Runnable[Any, Any],
        peer: Peer,
        *,
        options: AdapterOptions | None = None,
        hooks: Hooks | None = None,
        thread: str = "thread",
        name: str = "user",
        tools: Sequence[Mapping[str, Any]] = (),
        ignore: Iterable[str] = (),
    ) -> None:
        """`name`: the ids of this tab's messages begin with it. `tools`: the client's, sent with every request.
        `ignore`: conformance rules that do not hold here."""
        self.graph, self.peer, self.thread = graph, peer, thread
        options = replace(options or AdapterOptions(), source=peer.source)
        self.adapter = AGUIAdapter(graph, options=options, hooks=hooks or Hooks())
        self.messages: list[dict[str, Any]] = []
        self.state: Any = {}
        self.runs: list[Run] = []
        self.view: ClientRun | None = None
        """The client's view of the last run."""
        self._name, self._numbers = name, itertools.count(1)
        self._tools, self._ignore = list(tools), tuple(ignore)

    # ------------------------------------------------------------------ what people do

    async def say(self, text: Any, *, id: str | None = None, **request: Any) -> list[WireEvent]:
        """A new message of the user."""
        message = {"id": id or f"{self._name}-{next(self._numbers)}", "role": "user", "content": text}
        return await self.send([*self.messages, message], **request)

    async def answer(self, *payloads: Any, **request: Any) -> list[WireEvent]:
        """Answers for all open questions in order: one for all of them, or one each."""
        given = payloads if len(payloads) > 1 else itertools.repeat(payloads[0] if payloads else True)
        entries = [resolved(q["id"], payload) for q, payload in zip(self.questions, given, strict=False)]
        return await self.send(resume=entries, **request)

    async def cancel(self, **request: Any) -> list[WireEvent]:
        """All open questions are abandoned."""
        return await self.send(resume=[cancelled(q["id"]) for q in self.questions], **request)

    async def return_results(self, *contents: Any, **request: Any) -> list[WireEvent]:
        """The client's tools ran: one result for each call that the last run left pending, in order."""
        new = [self.result(call, content) for call, content in zip(self.pending, contents, strict=False)]
        return await self.send([*self.messages, *new], **request)

    async def edit(self, number: int, content: Any, *, id: str | None = None, **request: Any) -> list[WireEvent]:
        """The user's n-th message (negative: from the end) says something else, maybe under a new id; what followed
        it is gone."""
        at = self._said()[number]
        message = {**self.messages[at], "content": content, **({} if id is None else {"id": id})}
        return await self.send([*self.messages[:at], message], **request)

    async def regenerate(self, number: int = -1, **request: Any) -> list[WireEvent]:
        """Another answer to the user's n-th message: it is sent again, without what followed it."""
        return await self.send(self.messages[: self._said()[number] + 1], **request)

    def cut(self, number: int) -> None:
        """The user's n-th message and what followed it are deleted; nothing is sent."""
        self.messages = self.messages[: self._said()[number]]

    async def send(
        self,
        messages: Sequence[Mapping[str, Any]] | None = None,
        *,
        in_step: bool = True,
        beyond: Collection[str] = (),
        reloaded: bool = False,
        config: RunnableConfig | None = None,
        **request: Any,
    ) -> list[WireEvent]:
        """A request with these messages (None: those that the client shows), and the run that answers it.

        `beyond`: ids of messages that the client may show although the thread does not hold them (yet).
        `in_step=False`: the caller compares client and thread. `reloaded`: the page does not know which questions are
        open, so its client sends what others would hold back. `request`: further fields of `run_input`.
        """
        sent = self.messages if messages is None else list(messages)
        fields = {
            "thread_id": self.thread,
            "run_id": f"{self._name}-run-{len(self.runs) + 1}",
            "state": self.state,
            "tools": self._tools,
            "protocol_version": self.peer.version,
            **request,
        }
        given = run_input([m for m in sent if m["role"] != "activity"], **fields)
        self.runs.append(await record(self.adapter, given, config=config))
        self._look(sent, self.runs[-1:] if reloaded else self.runs[-2:])
        if in_step and self.view is not None and self.view["terminal"] == "RUN_FINISHED":
            await self.compare(beyond)
        return self.events

    def _look(self, sent: Sequence[Mapping[str, Any]], runs: Sequence[Run]) -> None:
        """Let the official client show the last run; the one before it has the open questions."""
        judged = verdict(runs, clients=[self.peer.client], ignore=self._ignore)
        assert not judged.problems, "\n".join([f"{self.peer.client}, run {len(self.runs)}:", *judged.problems])
        known = {c["id"] for m in sent for c in m.get("toolCalls") or ()}
        again = [e["toolCallId"] for e in self.events if e["type"] == "TOOL_CALL_START" and e["toolCallId"] in known]
        assert not again, f"calls that the client knows are streamed again: {again}"
        self.view = judged.runs[-1]
        self.messages, self.state = self.view["messages"], self.view["state"]

    # ------------------------------------------------------------------ what they see

    @property
    def events(self) -> list[WireEvent]:
        """The wire events of the last run."""
        return self.runs[-1]["events"]

    @property
    def types(self) -> list[str]:
        """Their types."""
        return [event["type"] for event in self.events]

    @property
    def outcome(self) -> str:
        """``success``, ``interrupt``, or the code of the error."""
        last = self.events[-1]
        if last["type"] == "RUN_ERROR":
            return str(last["code"])
        return str(last.get("outcome", {}).get("type", "success"))

    @property
    def questions(self) -> list[dict[str, Any]]:
        """The questions that the last run ended with."""
        if not self.runs:
            return []
        found: list[dict[str, Any]] = self.events[-1].get("outcome", {}).get("interrupts", [])
        return found

    @property
    def pending(self) -> list[dict[str, Any]]:
        """Calls of the last assistant message that have no result: ``{"id", "name", "args"}``."""
        last: dict[str, Any] = next((m for m in reversed(self.messages) if m["role"] == "assistant"), {})
        answered = {m["toolCallId"] for m in self.messages if m["role"] == "tool"}
        calls = [call for call in last.get("toolCalls") or () if call["id"] not in answered]
        return [{"id": c["id"], "name": c["function"]["name"], "args": c["function"]["arguments"]} for c in calls]

    @property
    def said(self) -> list[tuple[str, str]]:
        """Role and text of every message that is shown; calls stand for the text where there is none."""
        return [(m["role"], m["content"] or " ".join(name for _, name, _ in m["calls"])) for m in spoken(self.messages)]

    def events_of(self, kind: str) -> list[WireEvent]:
        """The last run's events of this type."""
        return [event for event in self.events if event["type"] == kind]

    def result(self, call: Mapping[str, Any], content: Any, **fields: Any) -> dict[str, Any]:
        """The message with which a client answers a call."""
        text = content if isinstance(content, str | list) else json.dumps(content)
        id = f"{self._name}-result-{next(self._numbers)}"
        return {"id": id, "role": "tool", "toolCallId": call["id"], "content": text, **fields}

    async def compare(self, beyond: Collection[str] = ()) -> None:
        """The client shows the thread's public state and messages, whatever they are."""
        label = f"{self.peer.client}, run {len(self.runs)}: the client's"
        declared = self.peer.version is not None
        state, messages = await held(self.graph, self.thread)
        assert self.state == state, f"{label} state\n{self.state}\nis not the graph's\n{state}"
        on_the_wire = (wire(json.loads(m.model_dump_json(by_alias=True))) for m in to_agui(messages, declared=declared))
        unheard = set(beyond).difference(m.id for m in messages if m.id)
        shown = _grouped(m for m in spoken(self.messages) if m["id"] not in unheard)
        wanted = _grouped(spoken(on_the_wire))
        assert shown == wanted, f"{label} messages\n{_lines(shown)}\nare not the thread's\n{_lines(wanted)}"

    def _said(self) -> list[int]:
        return [n for n, m in enumerate(self.messages) if m["role"] == "user"]


def resolved(question: str, payload: Any) -> dict[str, Any]:
    """An entry of ``resume``."""
    return {"interruptId": question, "status": "resolved", "payload": payload}


def cancelled(question: str) -> dict[str, Any]:
    """An entry of ``resume``."""
    return {"interruptId": question, "status": "cancelled"}


async def held(graph: Any, thread: str = "thread") -> tuple[dict[str, Any], list[BaseMessage]]:
    """The public state of a thread, and its messages: those of paused subgraphs behind the graph's own."""
    assert isinstance(graph, Pregel)
    state = await graph.aget_state({"configurable": {"thread_id": thread}}, subgraphs=True)
    names = graph.output_channels
    if isinstance(names, str):
        return {}, []
    public = {key: json_safe(state.values[key]) for key in names if key in state.values and key != "messages"}
    messages: list[BaseMessage] = list(state.values.get("messages", ()))
    known = {m.id for m in messages}
    for inner in _inner(state):
        new = [m for m in inner.values.get("messages", ()) if m.id not in known]
        known.update(m.id for m in new)
        messages += new
    return public, messages


def _inner(state: StateSnapshot) -> Iterable[StateSnapshot]:
    for task in state.tasks:
        if isinstance(task.state, StateSnapshot):
            yield task.state
            yield from _inner(task.state)


def spoken(messages: Iterable[Mapping[str, Any]]) -> list[Shown]:
    """The conversation without reasoning, subagents, and activities of the application; arguments by their value, where
    they have one."""
    return [
        shown_message(m)
        for m in messages
        if m["role"] != "reasoning" and not is_applications(m) and not m.get("subagentRunId")
    ]


def shown_message(message: Mapping[str, Any]) -> Shown:
    """The fields on which users and the next request depend."""
    calls = [(call["id"], call["function"]) for call in message.get("toolCalls") or ()]
    return {
        "id": message["id"],
        "role": message["role"],
        "content": message.get("content") or "",
        "calls": [(own, function["name"], _parsed(function["arguments"])) for own, function in calls],
        "toolCallId": message.get("toolCallId"),
        "error": message.get("error"),
    }


def is_applications(message: Mapping[str, Any]) -> bool:
    """An activity that no answer has, so that no thread stores it."""
    return message["role"] == "activity" and message["activityType"] not in (MEDIA, CITATIONS)


def _grouped(messages: Iterable[Shown]) -> list[Shown]:
    """Results that stand together in the order of their calls' ids: tools that run at once may end in any order, and
    each result belongs to its call."""
    found: list[Shown] = []
    for is_result, run in itertools.groupby(messages, lambda m: m["role"] == "tool"):
        group = list(run)
        found += sorted(group, key=lambda m: str(m["toolCallId"])) if is_result else group
    return found


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments


def _lines(messages: Iterable[Shown]) -> str:
    return "\n".join("  " + " ".join(f"{k}={v!r}" for k, v in m.items() if v) for m in messages)
