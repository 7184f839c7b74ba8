"""Text, token by token."""

from __future__ import annotations

import json

from benchmarks.cases.parts import answering, one_node, scene, words
from benchmarks.registry import Scene, agent_case
from yai_nexus_agentkit.testing import ScriptedChatModel, reasoning_part, text_part, tool_call_parts


@agent_case("{size} tokens through one node", size=2_000, small=40)
def tokens(size: int) -> Scene:
    """The most frequent thing an agent does."""
    return scene(one_node(answering(size)))


@agent_case("{size} tokens through one sync node", size=2_000, small=40)
def sync_node(size: int) -> Scene:
    """The same in a worker thread, where LangChain's handler starts an event loop for each token."""
    return scene(one_node(answering(size), sync=True))


@agent_case("{size} tokens in blocks of content", size=2_000, small=40)
def blocks(size: int) -> Scene:
    """Text as Anthropic sends it to graphs with tools, and OpenAI's Responses always."""
    parts = [text_part(word) for word in words(size)]
    return scene(one_node(ScriptedChatModel(script=lambda messages: parts)))


@agent_case("{size} tokens of reasoning, then an answer", size=2_000, small=40)
def reasoning(size: int) -> Scene:
    """Models that think say more to themselves than to the user. Blocks of content, as most providers send them."""
    thoughts = [reasoning_part(word) for word in words(size)]
    return scene(one_node(ScriptedChatModel(script=lambda messages: [*thoughts, "Done."])))


@agent_case("a tool call whose arguments come in {size} pieces", size=2_000, small=40)
def arguments(size: int) -> Scene:
    """A document that a model writes into a tool's argument. The call is left to the client."""
    text = json.dumps({"document": "".join(words(size))})
    parts = tool_call_parts("write", text, "call_1", pieces=size)
    return scene(one_node(ScriptedChatModel(script=lambda messages: parts)))
