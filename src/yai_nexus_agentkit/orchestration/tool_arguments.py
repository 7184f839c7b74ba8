"""The arguments of a tool: which ones the model writes, whether they fit, and how a person may change them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self, get_args, get_origin, get_type_hints

from langchain_core.tools import BaseTool, InjectedToolArg, Tool
from langchain_core.tools.base import get_all_basemodel_annotations
from langgraph.prebuilt import ToolRuntime
from pydantic import BaseModel, ValidationError, create_model

__all__ = ["Arguments", "type_hints"]


def type_hints(tool: BaseTool) -> dict[str, Any]:
    """The annotations of the tool's function, resolved; empty for a tool without one."""
    function: Callable[..., Any] | None = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    return get_type_hints(function, include_extras=True) if function else {}


@dataclass(frozen=True, slots=True)
class Arguments:
    """Facts about a tool's arguments, computed once per tool."""

    schema: Any
    """The tool's `args_schema`: a pydantic class (of version 1 or 2) or a JSON Schema."""

    injected: frozenset[str]
    """Arguments that the graph fills in (`InjectedToolArg`, `InjectedState`, `ToolRuntime` …). Neither a model nor a
    person may set them."""

    runtime: str | None
    """The injected argument that gets the `ToolRuntime`."""

    checker: type[BaseModel] | None
    """The schema with its validators, injected arguments optional; None if it is not a pydantic 2 class."""

    json_schema: Mapping[str, Any]
    """The schema that the model sees."""

    @classmethod
    def of(cls, tool: BaseTool) -> Self:
        """The arguments of this tool."""
        schema = _schema(tool)
        annotations = type_hints(tool)
        if not isinstance(schema, dict):
            annotations |= get_all_basemodel_annotations(schema)
        # ToolNode injects into an argument named "runtime" whatever its type.
        runtime = next((n for n, hint in annotations.items() if n == "runtime" or _marked(hint, ToolRuntime)), None)
        injected = {n for n, hint in annotations.items() if n == runtime or _marked(hint, InjectedToolArg)}
        return cls(schema, frozenset(injected), runtime, _checker(schema, injected), _json_schema(tool, schema))

    def validated(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments with the tool's types and defaults; unchanged if there is no pydantic 2 class.

        Raises:
            pydantic.ValidationError: they do not fit.
        """
        if self.checker is None:
            return dict(args)
        model = self.checker.model_validate(dict(args))
        return {name: getattr(model, name) for name in self.checker.model_fields if name not in self.injected}

    def problem(self, args: Mapping[str, Any]) -> str:
        """Why a person's arguments do not fit the tool, for the model to read; empty if they fit.

        Stricter than the tool, which ignores unknown names: a person's change must not get lost.
        """
        return "; ".join(self._problems(args))

    def answer_schema(self, *, edits: bool) -> dict[str, Any]:
        """JSON Schema of the answers to a question about a call: AG-UI's shape for forms, or a HITL decision."""
        properties: dict[str, Any] = {"approved": {"type": "boolean", "description": "Whether the call may run."}}
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        decisions = ["approve", "reject"]
        if edits:
            # References start at the root, so definitions must stay there.
            arguments = {key: value for key, value in self.json_schema.items() if key != "$defs"}
            properties["editedArgs"] = {**arguments, "description": "All arguments, if they are to be changed."}
            if "$defs" in self.json_schema:
                schema["$defs"] = self.json_schema["$defs"]
            decisions.append("edit")
        properties["reason"] = {"type": "string", "description": "A reason that the model reads."}
        decision = {"properties": {"type": {"enum": decisions}}, "required": ["type"]}
        return {**schema, "anyOf": [{"required": ["approved"]}, decision]}

    def _problems(self, args: Mapping[str, Any]) -> Iterator[str]:
        for name in sorted(self.injected.intersection(args)):
            yield f"{name}: cannot be set"
        if self.checker is None:
            if isinstance(self.schema, dict):
                yield from _json_schema_problems(self.schema, args)
            return
        yield from (f"{name}: unknown argument" for name in sorted(set(args) - _known_names(self.checker, args)))
        try:
            self.checker.model_validate(dict(args))
        except ValidationError as error:
            for found in error.errors(include_url=False, include_context=False, include_input=False):
                yield ": ".join(filter(None, [".".join(map(str, found["loc"])), found["msg"]]))


def _schema(tool: BaseTool) -> Any:
    if tool.args_schema is not None:
        return tool.args_schema
    if isinstance(tool, Tool):  # one text under any name
        return {"type": "object", "properties": tool.args, "required": list(tool.args)}
    return tool.get_input_schema()


def _marked(hint: Any, marker: type) -> bool:
    """Whether an annotation is this type, or carries it or an instance of it (`Annotated`, also inside a union)."""
    if isinstance(hint, marker) or (isinstance(hint, type) and issubclass(hint, marker)):
        return True
    return any(_marked(part, marker) for part in (get_origin(hint), *get_args(hint)) if part is not None)


def _checker(schema: Any, injected: set[str]) -> type[BaseModel] | None:
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return None
    optional: dict[str, Any] = dict.fromkeys(injected.intersection(schema.model_fields), (Any, None))
    return create_model(schema.__name__, __base__=schema, **optional) if optional else schema


def _json_schema(tool: BaseTool, schema: Any) -> Mapping[str, Any]:
    if isinstance(schema, dict):
        return schema
    shown: Any = tool.tool_call_schema if tool.args_schema is not None else schema
    made = shown.model_json_schema() if issubclass(shown, BaseModel) else shown.schema()
    return {"type": "object", **made}


def _known_names(model: type[BaseModel], args: Mapping[str, Any]) -> set[str]:
    if model.model_config.get("extra") == "allow":
        return set(args)
    fields = model.model_fields
    aliases = {alias for f in fields.values() for alias in (f.alias, f.validation_alias) if isinstance(alias, str)}
    return set(fields) | aliases


def _json_schema_problems(schema: Mapping[str, Any], args: Mapping[str, Any]) -> Iterator[str]:
    """All problems where the package jsonschema is installed (extra ``[server]``), else only missing names."""
    try:
        jsonschema = importlib.import_module("jsonschema")
    except ImportError:
        yield from (f"{name}: missing" for name in schema.get("required", ()) if name not in args)
        return
    for error in jsonschema.Draft202012Validator(schema).iter_errors(dict(args)):
        yield ": ".join(filter(None, [".".join(map(str, error.absolute_path)), error.message]))
