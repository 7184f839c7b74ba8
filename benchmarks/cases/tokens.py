"""Text, token by token."""

from __future__ import annotations

from benchmarks.cases.parts import answering, one_node, scene
from benchmarks.registry import Scene, agent_case


@agent_case("{size} tokens through one node", size=2_000, small=40)
def tokens(size: int) -> Scene:
    """The most frequent thing an agent does."""
    return scene(one_node(answering(size)))


@agent_case("{size} tokens through one sync node", size=2_000, small=40)
def sync_node(size: int) -> Scene:
    """The same in a worker thread, where LangChain's handler starts an event loop for each token."""
    return scene(one_node(answering(size), sync=True))
