"""Whatever an agent and its client do, every run is conformant, and a thread never gets stuck."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from google.adk.agents import Agent, ParallelAgent, SequentialAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.tools import FunctionTool, LongRunningFunctionTool
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adk.playing import ask_boss, calling, get_weather, model, thinking, wipe
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.testing import Run, assert_conformant, record, run_input


def failing() -> str:
    """Fails."""
    raise ValueError("no")


PARTS: dict[str, Any] = {
    "text": "some text ",
    "more": "and more. ",
    "thought": thinking("hm"),
    "weather": calling("get_weather", city="Rome"),
    "client": calling("pick", n=1),
    "confirm": calling("wipe", path="/"),
    "boss": calling("ask_boss", question="?"),
    "fail": calling("failing"),
}
ANSWERS = st.lists(st.lists(st.sampled_from(sorted(PARTS)), min_size=1, max_size=4), min_size=1, max_size=6)
TURNS = st.lists(st.sampled_from(["say", "answer", "deny", "results", "some", "again", "back"]), min_size=2, max_size=6)
PICK = {"name": "pick", "description": "Pick.", "parameters": {}}


def agent_of(kind: str, answers: Sequence[Sequence[str]]) -> Any:
    def one(name: str) -> Agent:
        script = [[PARTS[part] for part in answer] for answer in answers] * 8
        tools = [get_weather, failing, FunctionTool(wipe, require_confirmation=True), LongRunningFunctionTool(ask_boss)]
        return Agent(name=name, model=model(*script), tools=tools)

    if kind in ("one", "resumable"):
        config = ResumabilityConfig(is_resumable=kind == "resumable")
        return App(name="app", root_agent=one("root"), resumability_config=config)
    return (SequentialAgent if kind == "sequence" else ParallelAgent)(name="root", sub_agents=[one("a"), one("b")])


class Client:
    """Holds what it was shown, roughly, and acts on it."""

    def __init__(self, adapter: AGUIAdapter) -> None:
        self.adapter, self.runs = adapter, list[Run]()
        self.messages: list[dict[str, Any]] = []

    async def act(self, what: str) -> None:
        outcome = (self.runs[-1]["events"][-1].get("outcome") or {}) if self.runs else {}
        fields: dict[str, Any] = {}
        pending = outcome.get("pendingToolCallIds") or []
        number = len(self.runs)
        if what in ("answer", "deny"):
            resume = [
                {"interruptId": asked["id"], "status": "resolved", "payload": {"approved": what == "answer"}}
                for asked in outcome.get("interrupts") or ()
            ]
            fields = {"resume": resume} if resume else {}
        elif what in ("results", "some"):
            for call in pending if what == "results" else pending[:1]:
                made = {"id": f"r{number}-{call}", "role": "tool", "toolCallId": call, "content": "picked"}
                self.messages.append(made)
        elif what == "back":
            users = [n for n, message in enumerate(self.messages) if message["role"] == "user"]
            self.messages = self.messages[: users[-1] + 1] if users else self.messages
        if what == "say" or not self.messages:
            self.messages.append({"id": f"u{number}", "role": "user", "content": what})
        request = run_input(self.messages, thread_id="t", run_id=f"run-{number}", tools=[PICK], **fields)
        self.runs.append(await record(self.adapter, request))
        self._take(self.runs[-1])

    def _take(self, run: Run) -> None:
        """Answers are read from the store: the official clients are tested elsewhere."""
        known = {message["id"] for message in self.messages}
        for event in run["events"]:
            if event["type"] == "MESSAGES_SNAPSHOT":
                self.messages = [message for message in event["messages"] if message["role"] != "reasoning"]
            elif event["type"] == "TEXT_MESSAGE_START" and event["messageId"] not in known:
                self.messages.append({"id": event["messageId"], "role": "assistant", "content": "text"})


@given(kind=st.sampled_from(["one", "resumable", "sequence", "parallel"]), answers=ANSWERS, turns=TURNS)
@settings(max_examples=25)
def test_any_conversation_is_conformant(kind: str, answers: list[list[str]], turns: list[str]) -> None:
    async def played() -> None:
        options = AdapterOptions(messages_snapshot="always", execution_timeout=20)
        client = Client(AGUIAdapter(agent_of(kind, answers), options=options))
        for turn in ("say", *turns):
            await client.act(turn)
        assert_conformant(client.runs)
        codes = [run["events"][-1].get("code") for run in client.runs]
        assert set(codes) <= {None, "AGENT_ERROR", "INVALID_RESUME"}

    asyncio.run(played())
