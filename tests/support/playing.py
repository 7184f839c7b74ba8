"""Driver. A conversation between a real graph and the official clients, each turn's request made from what the client
holds, each turn's outcome compared with what the thread stores.

The same turns are played three times, each time with a fresh graph: with a peer that declared 1.0 (client 1.0.0), with
one that declared nothing (client 0.0.59, CopilotKit's current generation), and once more with the other source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from ag_ui.core import Message, RunAgentInput
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable
from langgraph.pregel import Pregel
from pydantic import TypeAdapter

from tests.support.conformance import verdict
from tests.support.lines import brief, named
from tests.support.people import is_applications, shown_message
from tests.support.verifier import ClientRun, Verifier
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.adapter.langgraph.messages.convert import to_agui
from yai_nexus_agentkit.adapter.langgraph.native.run_tree import ERROR_HANDLER
from yai_nexus_agentkit.adapter.run_context import Hooks
from yai_nexus_agentkit.protocol.json.json_safe import json_safe
from yai_nexus_agentkit.testing import Run, WireEvent, record, run_input, wire

__all__ = ["Build", "Played", "Player", "Turn"]

_MESSAGES: TypeAdapter[list[Message]] = TypeAdapter(list[Message])
Build: TypeAlias = Callable[[], Runnable[Any, Any]]
"""Makes a fresh graph with fresh models."""

Turn: TypeAlias = str | Callable[[ClientRun], Mapping[str, Any]]
"""The user's next message, or a function from the client's view to the fields of the next request."""

_PEERS: Sequence[tuple[str, str | None, Literal["events", "callbacks"]]] = (
    ("1.0.0", "1.0", "events"),
    ("0.0.59", None, "events"),
    ("1.0.0", "1.0", "callbacks"),
)
_START: ClientRun = {
    "ok": True,
    "accepted": True,
    "terminal": None,
    "messages": [],
    "state": {},
    "newMessageIds": [],
    "warnings": [],
}


@dataclass
class Played:
    """One conversation with one client generation."""

    runs: list[Run] = field(default_factory=list)
    views: list[ClientRun] = field(default_factory=list)
    """The client's view after each run."""

    @property
    def streams(self) -> list[list[str]]:
        """The wire events of each run as lines, without the facts that every run has: see `brief`.

        Ids are named over the whole conversation.
        """
        return named(*(brief(run["events"]) for run in self.runs))

    @property
    def stream(self) -> list[str]:
        """The lines of the only run."""
        [only] = self.streams
        return only

    @property
    def full_stream(self) -> list[str]:
        """The lines of the only run with nothing left out: for tests about the metadata of steps."""
        [only] = named(*(run["events"] for run in self.runs))
        return only

    def only(self, *kinds: str) -> list[str]:
        """The lines of the only run, of events whose type begins with one of `kinds`."""
        return self._chosen(lambda event: event["type"].startswith(kinds))

    def without(self, *kinds: str) -> list[str]:
        """The lines of the only run, of events whose type begins with none of `kinds`."""
        return self._chosen(lambda event: not event["type"].startswith(kinds))

    def _chosen(self, wanted: Callable[[WireEvent], bool]) -> list[str]:
        [run] = self.runs
        [lines] = named(list(filter(wanted, brief(run["events"]))))
        return lines

    @property
    def events(self) -> list[WireEvent]:
        """The wire events of the last run, as they are."""
        return self.runs[-1]["events"]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The client's, at the end."""
        return self.views[-1]["messages"]

    @property
    def state(self) -> Any:
        """The client's, at the end."""
        return self.views[-1]["state"]


@dataclass
class Player:
    """``played = await play(build, "hi", "and then?")``; the returned conversation is the one with client 1.0.0."""

    verifier: Verifier
    old: Played = field(default_factory=Played)
    """The conversation with client 0.0.59."""

    async def __call__(
        self,
        build: Build,
        *turns: Turn,
        options: AdapterOptions | None = None,
        ignore: Iterable[str] = (),
        same: bool = True,
        ordered: bool = True,
        in_step: bool = True,
        context: Any = None,
    ) -> Played:
        """`ignore`: conformance rules that do not hold here. `same=False`: the peers' streams differ beyond what the
        protocol's versions explain. `ordered=False`: tasks run in parallel, which leaves the order open; the sources
        then have the same lines in some order. `in_step=False`: the caller compares client and thread himself."""
        options = options or AdapterOptions()
        made = []
        for client, version, source in _PEERS:
            conversation = _Conversation(self.verifier, client, version, tuple(ignore), in_step, context)
            made.append(await conversation.hold(build(), turns or ("hi",), replace(options, source=source)))
        new, self.old, inline = made
        if same:
            assert _common(new, ordered) == _common(self.old, ordered), "peers of both generations get the same"
            assert _common(new, ordered) == _common(inline, ordered), "both sources send the same"
        return new


@dataclass
class _Conversation:
    verifier: Verifier
    client: str
    version: str | None
    ignore: tuple[str, ...]
    in_step: bool
    context: Any

    async def hold(self, graph: Runnable[Any, Any], turns: Sequence[Turn], options: AdapterOptions) -> Played:
        seen = _Seen(graph)
        adapter = AGUIAdapter(graph, options=options, hooks=seen.hooks)
        played = Played()
        for number, turn in enumerate(turns, 1):
            view = played.views[-1] if played.views else _START
            fields = _says(view, turn, number) if isinstance(turn, str) else turn(view)
            request = run_input(
                **{
                    "message": view["messages"],
                    "state": view["state"],
                    "thread_id": "thread",
                    "run_id": f"run-{number}",
                    "protocol_version": self.version,
                    **fields,
                }
            )
            extra = {} if self.context is None else {"context": self.context}
            played.runs.append(await record(adapter, request, **extra))
            _check_common(played.events, request, state=seen.state, custom_names=options.step_name is not None)
            judged = verdict(played.runs, clients=[self.client], ignore=self.ignore, verifier=self.verifier)
            assert not judged.problems, "\n".join([f"{self.client}, turn {number}:", *judged.problems])
            played.views = judged.runs
            if self.in_step:
                await self._compare(seen, played, number)
        return played

    async def _compare(self, seen: _Seen, played: Played, number: int) -> None:
        """The client holds the graph's public state and the thread's messages; after a failure, at least those."""
        held, view = await seen.values(), played.views[-1]
        if held is None:
            return
        label = f"{self.client}, turn {number}"
        state, messages = held
        assert view["state"] == state, f"{label}: the client's state\n{view['state']}\nis not the graph's\n{state}"
        if messages is None:
            return
        foreign = _MESSAGES.validate_python([m for m in view["messages"] if m.get("subagentRunId")])
        stored = to_agui(messages, declared=self.version is not None, foreign=foreign)
        wanted = _shown([wire(m) for m in map(_json, stored)])
        got = _shown([m for m in view["messages"] if not m.get("subagentRunId") and not is_applications(m)])
        if view["terminal"] == "RUN_ERROR":
            known = [m["id"] for m in got]
            assert {m["id"] for m in wanted} <= set(known), f"{label}: the client lacks messages of the thread"
            return
        for kind, of in (("messages", _spoken), ("reasoning", _thoughts)):
            assert of(got) == of(wanted), f"{label}: the client's {kind}\n{of(got)}\nare not the thread's\n{of(wanted)}"


class _Seen:
    """The graph's state: asked from a graph with a checkpointer, else the last ``values`` chunk."""

    def __init__(self, graph: Runnable[Any, Any]) -> None:
        self._graph = graph
        self._last: Any = None
        self.state = isinstance(graph, Pregel) and not isinstance(graph.output_channels, str)
        watch = isinstance(graph, Pregel) and not graph.checkpointer
        self.hooks = Hooks(on_native=self._look) if watch else Hooks()

    def _look(self, native: Any, run: Any) -> Iterable[Any]:
        chunk = native["data"].get("chunk") if native["event"] == "on_chain_stream" else None
        if isinstance(chunk, tuple) and len(chunk) == 3 and chunk[:2] == ((), "values"):
            self._last = chunk[2]
        return [native]

    async def values(self) -> tuple[dict[str, Any], list[BaseMessage] | None] | None:
        """Public state and messages (None: the graph keeps no conversation), or None of what has no state at all."""
        if not isinstance(self._graph, Pregel):
            return None
        values = self._last
        if self._graph.checkpointer:
            values = (await self._graph.aget_state({"configurable": {"thread_id": "thread"}})).values
        channels = self._graph.output_channels
        if isinstance(channels, str):
            return ({}, values) if channels == "__root__" and isinstance(values, list) else None
        state = {key: json_safe(values[key]) for key in channels if key in values and key != "messages"}
        return state, list(values.get("messages", ())) if "messages" in channels else None


def _check_common(events: Sequence[WireEvent], request: RunAgentInput, *, state: bool, custom_names: bool) -> None:
    """The facts that `brief` leaves out: ids and version of the run, and where each step is in the graph."""
    run = {"threadId": request.thread_id, "runId": request.run_id}
    types = [event["type"] for event in events]
    assert types[-1] in ("RUN_FINISHED", "RUN_ERROR")
    assert types[1] == "RUN_ERROR" or ("STATE_SNAPSHOT" in types if state else types[1] != "STATE_SNAPSHOT")
    assert events[0].items() >= {"type": "RUN_STARTED", "protocolVersion": "1.0", **run}.items()
    for event in events:
        if event["type"] == "RUN_FINISHED":
            assert event.items() >= run.items()
        elif event["type"] == "STEP_STARTED":
            place = event["metadata"]["langgraph"]
            assert place["step"] >= 0
            assert place["checkpoint_ns"].rpartition("|")[2] == f"{place['node']}:{place['task_id']}"
            path = re.sub(r"#\d+$", "", event["stepName"])
            assert custom_names or f"/{path}".endswith(f"/{place['node'].removeprefix(ERROR_HANDLER)}")


def _says(view: ClientRun, text: str, number: int) -> Mapping[str, Any]:
    return {"message": [*view["messages"], {"id": f"user-{number}", "role": "user", "content": text}]}


def _json(message: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(message.model_dump_json(by_alias=True))
    return data


def _shown(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The fields on which users and the next request depend; arguments by their value, where they have one."""
    return [{**shown_message(m), "encrypted": m.get("encryptedValue")} for m in messages]


def _spoken(shown: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [m for m in shown if m["role"] != "reasoning"]


def _thoughts(shown: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """By id: reasoning between two texts of one message has its own place on the screen, and none in the thread."""
    return {m["id"]: m for m in shown if m["role"] == "reasoning"}


def _common(played: Played, ordered: bool) -> list[list[str]]:
    """The streams without what only peers of 1.0 are sent: subagents' life stories and pending calls."""
    streams = []
    for run in played.runs:
        events = [dict(event) for event in run["events"] if not event["type"].startswith("SUBAGENT_")]
        for event in events:
            if event.get("outcome", {}).get("type") == "success":
                del event["outcome"]
        streams.append(events)
    if ordered:
        return named(*streams)
    return [sorted(re.sub(r"#\d+", "#", line) for line in lines) for lines in named(*streams, fold=False)]
