"""Messages as JSON, for the tests of their conversion."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ag_ui.core import FunctionCall, Message, ToolCall
from langchain_core import messages as lc
from pydantic import TypeAdapter

from yai_nexus_agentkit.adapter.langgraph.messages.convert import to_agui
from yai_nexus_agentkit.adapter.langgraph.messages.to_langchain import to_langchain

WIRE: TypeAdapter[Any] = TypeAdapter(list[Message])


def wire(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """The messages as JSON, after a strict reading of it."""
    data = WIRE.dump_json(messages, by_alias=True)
    assert WIRE.validate_json(data, strict=True) == messages
    return json.loads(data)  # type: ignore[no-any-return]


def as_agui(*messages: lc.BaseMessage, **options: Any) -> list[dict[str, Any]]:
    return wire(to_agui(messages, **options))


def there_and_back(*messages: Any) -> list[dict[str, Any]]:
    return wire(to_agui(to_langchain(messages)))


def call(call_id: str = "c", arguments: str = "{}", name: str = "f", **more: Any) -> ToolCall:
    return ToolCall(id=call_id, function=FunctionCall(name=name, arguments=arguments), **more)


def lc_call(call_id: str | None, **args: Any) -> Any:
    return {"name": "f", "args": args, "id": call_id, "type": "tool_call"}


def assert_stable(messages: Sequence[lc.BaseMessage]) -> None:
    """Once on the wire, messages go to LangChain and back unchanged, but for arguments that prove to be valid."""
    once = to_agui(to_langchain(to_agui(messages)))
    assert to_agui(to_langchain(once)) == once
