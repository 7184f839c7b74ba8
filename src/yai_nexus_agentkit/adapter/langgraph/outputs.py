"""Pure. What nodes and tools return, in all the shapes LangGraph accepts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.types import Command
from pydantic import BaseModel

__all__ = ["is_single_call", "tool_messages", "written_messages"]


def written_messages(output: Any) -> Iterator[Any]:
    """What a node's return value, or an entry of an ``updates`` chunk, writes to ``messages``: messages, or raw tuples,
    dicts and strings."""
    if isinstance(output, Command):
        yield from written_messages(output.update)
    elif isinstance(output, Mapping):
        if "messages" in output:
            yield from _entries(output["messages"])
    elif isinstance(output, list | tuple):
        for item in output:
            if isinstance(item, tuple) and len(item) == 2 and item[0] == "messages":
                yield from _entries(item[1])  # Command(update=[("messages", ...)])
            elif isinstance(item, Command | Mapping):
                yield from written_messages(item)
            elif isinstance(item, BaseMessage):
                yield item  # a graph whose whole state is the list of messages
    elif isinstance(output, BaseMessage):
        yield output
    elif isinstance(output, BaseModel) or (dataclasses.is_dataclass(output) and not isinstance(output, type)):
        yield from _entries(getattr(output, "messages", None))


def _entries(written: Any) -> Iterator[Any]:
    value = getattr(written, "value", written) if type(written).__name__ == "Overwrite" else written
    if value is None:
        return
    if isinstance(value, list):
        yield from value
    else:
        yield value


def tool_messages(output: Any) -> list[ToolMessage]:
    """The tool messages in a tool's result: the result itself, those in its ``Command``, or in a list of both."""
    if isinstance(output, ToolMessage):
        return [output]
    if isinstance(output, Command):
        return [m for m in written_messages(output) if isinstance(m, ToolMessage)]
    if isinstance(output, list | tuple):
        return [m for item in output if isinstance(item, Command | ToolMessage) for m in tool_messages(item)]
    return []


def is_single_call(node_input: Any) -> bool:
    """The node executes one tool call and nothing else, as the tool nodes of ``create_agent`` do: its input *is* the
    call."""
    if isinstance(node_input, list | tuple):
        if len(node_input) != 1:
            return False
        node_input = node_input[0]
    if not isinstance(node_input, Mapping):
        return False
    return node_input.get("type") == "tool_call" or node_input.get("__type") == "tool_call_with_context"
