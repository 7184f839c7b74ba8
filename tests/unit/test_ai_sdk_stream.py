"""Any sequence of facts, however absurd, is a stream that the AI SDK's clients accept, as starters and as late viewers.

What the server makes of chunks, for a chat that is read later, is what a client makes of them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from ag_ui.core import RunAgentInput

from tests.support.ai_sdk_page import Client, client
from tests.unit.test_lifecycle_conformance import (
    CHOICES,
    ENDS,
    MESSAGES,
    OTHERS,
    QUESTIONS,
    REQUEST,
    SPEECH,
    Fact,
    Played,
    play,
)
from yai_nexus_agentkit.protocol.replay import Replay
from yai_nexus_agentkit.transport.ai_sdk import UIMessageStream
from yai_nexus_agentkit.transport.ai_sdk.conversation import events_of
from yai_nexus_agentkit.transport.ai_sdk.ui_messages import parts_of

RUN = RunAgentInput.model_validate({**REQUEST, "tools": [], "context": [], "forwardedProps": {}})


@pytest.fixture(scope="module")
def ai() -> Iterator[Client]:
    with client() as started:
        yield started


def played_by(random: Random) -> Played:
    def fact() -> Fact:
        table = random.choice([*SPEECH, *SPEECH, *OTHERS, None])
        if table is None:
            return ("messages_snapshot", (random.sample(MESSAGES, random.randint(0, 5)),), {})
        return random.choice(table)

    options = {name: random.choice(values) for name, values in CHOICES.items()}
    paused: Fact = ("finish", (), {"interrupts": random.sample(QUESTIONS, random.randint(0, 3))})
    end = random.choice([paused, random.choice(random.choice(ENDS))])
    return play(options, [*(fact() for _ in range(random.randint(5, 80))), end])


def shape(parts: Any) -> list[Any]:
    """Parts without what clients add."""
    names = ("type", "text", "state", "toolName", "toolCallId", "input", "output", "errorText", "data", "url")
    return [{name: part[name] for name in names if name in part} for part in parts]


@pytest.mark.parametrize("seed", range(40))
def test_any_run_is_a_stream_that_clients_accept(ai: Client, seed: int) -> None:
    random = Random(seed)
    version: Any = random.choice([5, 6, 7])
    earlier = UIMessageStream(version, "u1")
    had = [chunk for event in events_of(RUN.messages[1:]) for chunk in earlier.feed(event)]
    for _ in range(8):
        played = played_by(random)
        stream, late = UIMessageStream.of(version, RUN), UIMessageStream.of(version, RUN, joined=True)
        replay = Replay(RUN)
        for event in played.events[:-1]:
            replay.put(event)
        whole = [chunk for event in played.events for chunk in stream.feed(event)]
        joined = [chunk for event in [*replay.events(), played.events[-1]] for chunk in late.feed(event)]
        held = {"id": "re-u1", "role": "assistant", "parts": parts_of(had)}
        for before, chunks in ((held, whole), (None, joined)):
            shown = ai.read(version, chunks, copy.deepcopy(before))
            if before is None and all(chunk["type"] != "reset-step" for chunk in chunks):
                assert shape(parts_of(chunks)) == shape(shown["parts"] if shown else [])
