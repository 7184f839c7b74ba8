"""Messages in the return values of nodes and tools, in all the shapes that LangGraph accepts. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.func import entrypoint
from langgraph.types import Command
from pydantic import BaseModel

__all__ = ["is_single_call", "tool_messages", "written_messages"]


def written_messages(output: Any) -> list[Any]:
    """The entries that a node's return value, or an entry of an ``updates`` chunk, writes to ``messages``: messages, or
    raw tuples, dicts and strings."""
    if type(output) is dict or isinstance(output, Mapping):
        return _entries(output["messages"]) if "messages" in output else []
    if isinstance(output, Command):
        return written_messages(output.update)
    if isinstance(output, entrypoint.final):
        return written_messages(output.value)
    if isinstance(output, (list, tuple)):
        return [message for item in output for message in _written_by(item)]
    if isinstance(output, BaseMessage):
        return [output]
    if isinstance(output, BaseModel) or (dataclasses.is_dataclass(output) and not isinstance(output, type)):
        return _entries(getattr(output, "messages", None))
    return []


def _written_by(item: Any) -> list[Any]:
    """The entries of an item of a list: one update of several, or a message of a graph whose whole state is the
    list."""
    if isinstance(item, tuple) and len(item) == 2 and item[0] == "messages":
        return _entries(item[1])  # Command(update=[("messages", ...)])
    if isinstance(item, Command | Mapping):
        return written_messages(item)
    return [item] if isinstance(item, BaseMessage) else []


def _entries(written: Any) -> list[Any]:
    value = getattr(written, "value", written) if type(written).__name__ == "Overwrite" else written
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


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
    if isinstance(node_input, (list, tuple)):
        if len(node_input) != 1:
            return False
        node_input = node_input[0]
    if type(node_input) is not dict and not isinstance(node_input, Mapping):
        return False
    return node_input.get("type") == "tool_call" or node_input.get("__type") == "tool_call_with_context"
