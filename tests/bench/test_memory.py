"""Memory beyond the bare loop's own over 200,000 tokens and over 1,000 runs. The quick variants are in the suite."""

from __future__ import annotations

import pytest

from tests.support.graphs import chat
from tests.support.memory import LOOPS, forgetful, growth, peak
from yai_nexus_agentkit.testing import ScriptedChatModel

pytestmark = [pytest.mark.bench, pytest.mark.timeout(3600)]


async def test_memory_over_200_000_tokens() -> None:
    words = [f"word {number} " for number in range(200_000)]
    graph = chat(ScriptedChatModel(script=lambda messages: words, pause=1e-9), checkpointer=None)

    held = {loop: await peak(graph, loop) for loop in LOOPS}

    print(held)
    assert max(held["events"], held["callbacks"]) - held["bare"] < 1_000_000  # 5 bytes per token


async def test_memory_over_1_000_runs() -> None:
    left = {loop: await growth(forgetful(), loop, 1_000) for loop in LOOPS}

    print(left)
    assert max(left["events"], left["callbacks"]) - left["bare"] < 50_000  # 50 bytes per run
