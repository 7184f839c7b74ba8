"""Tools that a device of the user runs: the graph pauses, the device answers, and its answer is the tool's result.

    @on_device(needs="geolocation")
    def locate(precise: bool) -> str:
        \"\"\"Where the user is.\"\"\"

    builder.add_node("tools", ToolNode([locate]))

The question goes to one of the user's connections that declares the ability (`yai_nexus_agentkit.server`, web sockets),
whichever of them the conversation is on. Plain HTTP clients get it as any other question. The device answers
``{"result": ...}`` or ``{"error": "..."}``; any other value is the result itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, ToolException
from langchain_core.tools import tool as as_tool
from langgraph.types import interrupt
from pydantic import BaseModel, create_model

__all__ = ["DEVICE_TOOL", "on_device"]

DEVICE_TOOL = "device_tool"
"""``type`` of the value that such a tool interrupts the graph with."""
_CALL = "agui_call_id"
"""Argument that LangChain fills with the call's id. Models do not see it."""


def on_device(*, needs: str | Sequence[str], message: str | None = None) -> Callable[[Callable[..., Any]], BaseTool]:
    """Make a tool of a function whose name, annotations and docstring describe it. Its body never runs.

    Args:
        needs: The ability, or abilities, of a device that can run it.
        message: The text of the question; default: the tool's name.

    Raises ValueError without an ability. A call of the tool outside a graph's run raises RuntimeError.
    """
    abilities = [needs] if isinstance(needs, str) else list(needs)
    if not abilities or not all(abilities):
        raise ValueError("a tool on a device needs an ability")

    def made(function: Callable[..., Any]) -> BaseTool:
        shape: BaseTool = as_tool(function)
        schema = shape.args_schema
        assert isinstance(schema, type)
        assert issubclass(schema, BaseModel)
        own: dict[str, Any] = {_CALL: (Annotated[str, InjectedToolCallId], "")}
        value = {"type": DEVICE_TOOL, "name": shape.name, "needs": abilities, "description": message or shape.name}

        def ask(**args: Any) -> Any:
            call_id = args.pop(_CALL, "")
            return _result(interrupt({**value, "tool_call_id": call_id, "args": args}))

        async def ask_async(**args: Any) -> Any:
            return ask(**args)

        return StructuredTool.from_function(
            ask,
            ask_async,
            name=shape.name,
            description=shape.description,
            args_schema=create_model(shape.name, __base__=schema, **own),
            handle_tool_error=True,
        )

    return made


def _result(answer: Any) -> Any:
    """The device's result. Raises ToolException, which the model reads, for a device that has none."""
    if not isinstance(answer, Mapping):
        return answer
    if answer.get("status") == "cancelled":
        raise ToolException("The user's device did not do it.")
    if "error" in answer:
        raise ToolException(f"The user's device could not do it: {answer['error']}")
    return answer.get("result", answer)
