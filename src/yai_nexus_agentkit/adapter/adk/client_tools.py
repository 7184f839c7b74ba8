"""Pure, but for the warnings. The client's tools as tools of ADK, for one run.

Each is long running: ADK emits the call, and the run ends without a result. The client executes it and sends the result
with the next request. In live mode the tool waits for the result instead.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from ag_ui.core import Tool
from google.adk.tools import BaseTool
from google.genai import types

from yai_nexus_agentkit.adapter.adk.questions import ASKING
from yai_nexus_agentkit.protocol.request import offered

__all__ = ["Asking", "ClientTool", "client_tools", "to_schema"]

_logger = logging.getLogger(__name__)
_RESERVED = ASKING | {"transfer_to_agent"}
_PLAIN = {
    "anyOf": "any_of",
    "default": "default",
    "description": "description",
    "enum": "enum",
    "format": "format",
    "items": "items",
    "maxItems": "max_items",
    "maxLength": "max_length",
    "maxProperties": "max_properties",
    "maximum": "maximum",
    "minItems": "min_items",
    "minLength": "min_length",
    "minProperties": "min_properties",
    "minimum": "minimum",
    "nullable": "nullable",
    "pattern": "pattern",
    "properties": "properties",
    "required": "required",
    "title": "title",
    "example": "example",
}
"""JSON Schema's keywords that the model's schema has, too."""
_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_DEEP = 12
"""Levels of references that refer to themselves; below, anything is allowed."""


Asking = Callable[[str, str], Awaitable[dict[str, Any]]]
"""The client's result of a tool, by its name and the id of the call."""


class ClientTool(BaseTool):
    """One tool of the client's. It is not executed here. `ask`: waits for the result."""

    def __init__(self, tool: Tool, ask: Asking | None = None) -> None:
        super().__init__(name=tool.name, description=tool.description, is_long_running=ask is None)
        self._parameters, self._ask = to_schema(tool.parameters), ask

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, description=self.description, parameters=self._parameters)

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> dict[str, Any] | None:
        """The client's result; None: the call stays open."""
        return None if self._ask is None else await self._ask(self.name, tool_context.function_call_id)


def client_tools(tools: Iterable[Tool] | None, ask: Asking | None = None) -> list[ClientTool]:
    """The tools of a request, each name once. ADK's own names are refused. `ask`: they wait for their results."""
    found: dict[str, ClientTool] = {}
    for tool in offered(tools):
        if tool.name in _RESERVED or tool.name in found:
            _logger.warning("the client's tool %r is left out: the name is taken", tool.name)
        else:
            found[tool.name] = ClientTool(tool, ask)
    return list(found.values())


def to_schema(parameters: Any) -> types.Schema | None:
    """JSON Schema as the model's schema type; None for a tool without parameters. Keywords that it lacks are mapped
    or left out."""
    if not isinstance(parameters, Mapping) or not parameters.get("properties"):
        return None
    return types.Schema(**_converted(parameters, parameters, 0))


def _converted(node: Any, root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if not isinstance(node, Mapping) or depth > _DEEP:
        return {}
    node = _resolved(node, root)
    made = {ours: node[name] for name, ours in _PLAIN.items() if name in node}
    made.update(_typed(node))
    if "const" in node:
        made["enum"] = [node["const"]]
    if isinstance(examples := node.get("examples"), list) and examples:
        made["example"] = examples[0]
    if "enum" in made:
        made["enum"] = [str(value) for value in made["enum"]]
        made["type"] = "STRING"
    choices = [*(node.get("anyOf") or ()), *(node.get("oneOf") or ()), *made.pop("choices", ())]
    made.pop("any_of", None)
    if choices:
        made["any_of"] = [_converted(choice, root, depth + 1) for choice in choices]
    if "properties" in made:
        made["properties"] = {k: _converted(v, root, depth + 1) for k, v in made["properties"].items()}
    if "items" in made:
        made["items"] = _converted(made["items"], root, depth + 1)
    return made


def _typed(node: Mapping[str, Any]) -> dict[str, Any]:
    """The type. One of several becomes a choice; ``null`` among them makes it nullable."""
    given = node.get("type")
    names = [name for name in ([given] if isinstance(given, str) else given or ()) if name in _TYPES]
    real = [name for name in names if name != "null"]
    made: dict[str, Any] = {"nullable": True} if "null" in names and real else {}
    if len(real) > 1:
        return {**made, "choices": [{"type": name} for name in real]}
    return {**made, "type": (real or names)[0].upper()} if names else made


def _resolved(node: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The node without local references, and with the parts of ``allOf`` merged."""
    for _ in range(_DEEP):
        if isinstance(reference := node.get("$ref"), str):
            found = _at(root, reference)
            node = {**found, **{key: value for key, value in node.items() if key != "$ref"}}
        elif isinstance(parts := node.get("allOf"), list):
            rest = {key: value for key, value in node.items() if key != "allOf"}
            for part in parts:
                rest = _merged(rest, _resolved(part, root) if isinstance(part, Mapping) else {})
            node = rest
        else:
            break
    return node


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    made = {**other, **one}
    if "properties" in one and "properties" in other:
        made["properties"] = {**other["properties"], **one["properties"]}
    if "required" in one and "required" in other:
        made["required"] = list(dict.fromkeys([*one["required"], *other["required"]]))
    return made


def _at(root: Mapping[str, Any], reference: str) -> Mapping[str, Any]:
    found: Any = root
    for name in reference.removeprefix("#").strip("/").split("/") if reference.startswith("#") else ():
        found = found.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) and found is not root else {}
