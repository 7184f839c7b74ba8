"""Many runs at once on one adapter."""

from __future__ import annotations

from benchmarks.cases.parts import one_node, scene, turn, words
from benchmarks.registry import Scene, agent_case
from yai_nexus_agentkit.testing import Part, ScriptedChatModel

_TOKENS = 20


@agent_case("{size} runs at once, 20 tokens each", size=100, small=5)
def interleaved(size: int) -> Scene:
    """After each token the model gives way, so that the runs take turns token by token."""
    parts: list[Part] = [part for word in words(_TOKENS) for part in (0.0, word)]
    graph = one_node(ScriptedChatModel(script=lambda messages: parts))
    return scene(graph, *(turn() for _ in range(size)))
