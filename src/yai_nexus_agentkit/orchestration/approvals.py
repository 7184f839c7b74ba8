"""`require_approval`: a server tool that asks a person before it runs.

    delete_file = require_approval(delete_file)
    pay = require_approval(pay, when=lambda args: args["amount"] > 100, expires_in=timedelta(minutes=10))
    agent = create_agent(model, tools=[delete_file, pay], checkpointer=saver)

The result is a tool like any other, for `create_agent` and for `ToolNode`. When the model calls it, the run pauses
before the tool starts, with one LangGraph interrupt per call. The interrupt's value has the shape of the HITL
middleware's per-call mode:

    {"type": "tool_approval", "tool_call_id", "name", "args", "description", "expires_at"?}

Answers: ``{"approved": bool, "editedArgs"?: {...}, "reason"?: str}`` (AG-UI's convention), a decision of the HITL
middleware (``{"type": "approve" | "edit" | "reject", ...}``), or just ``True``. Only an explicit yes runs the tool. A
no, ``{"status": "cancelled"}``, an unreadable answer, one that comes too late, and edited arguments that do not fit the
tool deny it.

A denial is the tool message of the call. Its text is for the model, its mark `APPROVAL` for programs. Its status is
"success": the tool did not fail.

Several calls in one tools node: LangGraph numbers the interrupts of a task in the order in which they are raised. In
`ToolNode` threads race for that order, so an answer could reach the wrong call. Therefore the first call of a task asks
for all of them, in the order of the model's message, and no tool starts before the last answer. Tools of the task that
need no approval run again at every resume. Where each call is a task of its own (`create_agent`, `route_after_model`)
they do not, and all questions are shown at once. A hand-written loop that calls one tool after the other has neither
guarantee.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, NamedTuple, TypeAlias, overload

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command
from pydantic import PrivateAttr, ValidationError

from yai_nexus_agentkit.orchestration.task_questions import (
    Question,
    asked_at,
    round_of,
    running_config,
    task_calls,
)
from yai_nexus_agentkit.orchestration.tool_arguments import Arguments, type_hints

__all__ = ["APPROVAL", "require_approval"]

logger = logging.getLogger(__name__)

APPROVAL: Final = "agui_approval"
"""``additional_kwargs`` key of the tool message of a call that did not run as the model wrote it.

Values: "denied", "cancelled", "expired", "invalid" (the edited arguments do not fit), "edited" (ran with others)."""

_RUNTIME_ARG: Final = "agui_approval_runtime"

Predicate: TypeAlias = Callable[[dict[str, Any]], bool]
Message: TypeAlias = str | Callable[[dict[str, Any]], str]
_Kind: TypeAlias = Literal["approved", "edited", "denied", "cancelled", "expired", "invalid"]

_DENIALS: Final[Mapping[str, str]] = {
    "denied": "The user did not approve the call of {name}. It was not executed. Do not repeat it unless asked to.",
    "cancelled": "The user dismissed the question whether {name} may run. It was not executed.",
    "expired": "The approval of {name} came too late. It was not executed.",
    "invalid": "The user changed the arguments of {name}, but the changed ones cannot be used. It was not executed.",
}
_EDITED: Final = "The user changed the arguments before {name} ran. It ran with {args}."
_SHOWN_ARGUMENTS: Final = 500
"""Characters of a call's arguments in the default message: a person reads it in a dialogue."""


@overload
def require_approval(
    tools: BaseTool | Callable[..., Any],
    *,
    when: Predicate | None = None,
    message: Message | None = None,
    expires_in: timedelta | None = None,
    allow_edit: bool = True,
    needs: str | Sequence[str] = (),
) -> BaseTool: ...


@overload
def require_approval(
    tools: Sequence[BaseTool | Callable[..., Any]],
    *,
    when: Predicate | None = None,
    message: Message | None = None,
    expires_in: timedelta | None = None,
    allow_edit: bool = True,
    needs: str | Sequence[str] = (),
) -> list[BaseTool]: ...


def require_approval(
    tools: BaseTool | Callable[..., Any] | Sequence[BaseTool | Callable[..., Any]],
    *,
    when: Predicate | None = None,
    message: Message | None = None,
    expires_in: timedelta | None = None,
    allow_edit: bool = True,
    needs: str | Sequence[str] = (),
) -> BaseTool | list[BaseTool]:
    """The same tool, or list of tools, with a question to a person before each call. The graph needs a checkpointer.

    Args:
        tools: A LangChain tool, a function (made a tool by LangChain's `tool`), or several of them. They are not
            changed.
        when: Returns whether a call with these arguments needs approval; by default every call does. Gets the
            validated arguments with their defaults, without injected ones. It runs again when the run resumes, so it
            must depend on the arguments alone. If it raises, the call needs approval.
        message: The text of the question, or a function that makes it from the model's arguments. By default the
            tool's name and arguments.
        expires_in: How long an approval is possible, from the checkpoint at which the model made the call. The
            interrupt's value has the end as ``expires_at`` (ISO 8601, UTC). A later yes denies.
        allow_edit: Whether the answer may replace the arguments. If not, an answer that does so denies.
        needs: Abilities of the device that is asked, where the user has several connections.

    Raises:
        TypeError: A tool is neither a LangChain tool nor a function.
        ValueError: `expires_in` is not positive, or a tool requires approval already.

    A call of the tool raises:
        RuntimeError: outside a graph's run, and in a graph without a checkpointer, where nobody could answer.
        pydantic.ValidationError: for arguments of the model that do not fit the tool. Nobody is asked; `ToolNode`
            reports the error to the model.
    """
    if expires_in is not None and expires_in <= timedelta(0):
        raise ValueError(f"expires_in must be positive, not {expires_in}")
    abilities = (needs,) if isinstance(needs, str) else tuple(needs)
    policy = _Policy(when, message, expires_in, allow_edit, abilities)
    if isinstance(tools, (list, tuple)):
        return [_asking(tool, policy) for tool in tools]
    return _asking(tools, policy)


class _Policy(NamedTuple):
    when: Predicate | None
    message: Message | None
    expires_in: timedelta | None
    allow_edit: bool
    needs: tuple[str, ...]


class _Call(NamedTuple):
    id: str | None
    args: dict[str, Any]
    """As the model wrote them."""
    injected: dict[str, Any]
    runtime: ToolRuntime[Any, Any] | None


class _Verdict(NamedTuple):
    kind: _Kind
    args: dict[str, Any] | None = None
    reason: str = ""


class _Gate(NamedTuple):
    call: _Call
    verdict: _Verdict
    input: Any = None
    """The input of the tool itself: without our runtime, with the person's arguments."""
    denial: ToolMessage | str | None = None


def _asking(tool: Any, policy: _Policy) -> BaseTool:
    if isinstance(tool, _ApprovalTool):
        raise ValueError(f"the tool {tool.name!r} requires approval already")
    if not isinstance(tool, BaseTool):
        if not inspect.isroutine(tool):
            raise TypeError(f"require_approval takes tools and functions, not {type(tool).__name__}")
        tool = as_tool(tool)
    return _ApprovalTool(tool, policy)


def _signature(tool: BaseTool, runtime_arg: str) -> Callable[..., Any]:
    """A function whose annotations show `ToolNode` what to inject: what the tool wants, and the runtime."""

    def call_the_tool_instead(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"the tool {tool.name!r} requires approval: use its invoke or ainvoke")

    call_the_tool_instead.__annotations__ = {runtime_arg: ToolRuntime} | type_hints(tool)
    return call_the_tool_instead


class _ApprovalTool(BaseTool):
    """The asking twin of a tool. It looks the same to models and nodes, and passes approved calls to the tool."""

    _inner: BaseTool = PrivateAttr()
    _policy: _Policy = PrivateAttr()
    _arguments: Arguments = PrivateAttr()
    _runtime_arg: str = PrivateAttr()
    _signature: Callable[..., Any] = PrivateAttr()

    def __init__(self, tool: BaseTool, policy: _Policy) -> None:
        arguments = Arguments.of(tool)
        shared = {name: getattr(tool, name) for name in BaseTool.model_fields if name != "callbacks"}
        super().__init__(**{**shared, "args_schema": arguments.schema})
        self._inner, self._policy, self._arguments = tool, policy, arguments
        self._runtime_arg = arguments.runtime or _RUNTIME_ARG
        self._signature = _signature(tool, self._runtime_arg)

    @property
    def func(self) -> Callable[..., Any]:
        """`ToolNode` reads here what to inject. Calling it raises: that would skip the question."""
        return self._signature

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The tool's result, or the denial. Raises `GraphInterrupt` to ask."""
        gate = self._gate(input)
        return gate.denial or _noted(self._inner.invoke(gate.input, config, **kwargs), gate)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The tool's result, or the denial. Raises `GraphInterrupt` to ask."""
        gate = self._gate(input)
        return gate.denial or _noted(await self._inner.ainvoke(gate.input, config, **kwargs), gate)

    def run(self, tool_input: str | dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """As `invoke`: this other public way into a tool must not lead around the question."""
        gate = self._gate(tool_input, kwargs.get("tool_call_id"))
        return gate.denial or _noted(self._inner.run(gate.input, *args, **kwargs), gate)

    async def arun(self, tool_input: str | dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """As `ainvoke`."""
        gate = self._gate(tool_input, kwargs.get("tool_call_id"))
        return gate.denial or _noted(await self._inner.arun(gate.input, *args, **kwargs), gate)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)

    def asks(self, args: dict[str, Any]) -> bool:
        """Whether a call with these arguments needs approval.

        Raises:
            pydantic.ValidationError: They do not fit the tool.
        """
        try:
            values = self._arguments.validated(args)
        except ValidationError:
            if self._inner.handle_validation_error:  # the tool answers that itself, but nothing runs unasked
                return True
            raise
        if self._policy.when is None:
            return True
        try:
            return bool(self._policy.when(values))
        except Exception:
            logger.warning("The predicate of %r failed, so the call needs approval.", self.name, exc_info=True)
            return True

    def question(self, call_id: str | None, args: dict[str, Any]) -> Question:
        """The question about one call."""
        value: dict[str, Any] = {"type": "tool_approval", "tool_call_id": call_id, "name": self.name, "args": args}
        value["description"] = self._description(args)
        if self._policy.needs:
            value["needs"] = list(self._policy.needs)
        if self._policy.expires_in is not None:
            value["expires_at"] = (asked_at() + self._policy.expires_in).isoformat()
        key = None if call_id is None else f"{call_id} {self.name} {json.dumps(args, sort_keys=True, default=repr)}"
        return Question(key, value, self._arguments.answer_schema(edits=self._policy.allow_edit))

    def _description(self, args: dict[str, Any]) -> str:
        message = self._policy.message
        if message is not None:
            return message if isinstance(message, str) else message(args)
        text = json.dumps(args, ensure_ascii=False, default=repr)
        text = text if len(text) <= _SHOWN_ARGUMENTS else f"{text[:_SHOWN_ARGUMENTS]}…"
        return f"Allow {self.name} with {text}?"

    def _gate(self, given: Any, call_id: str | None = None) -> _Gate:
        call = self._call(given, call_id)
        verdict = self._verdict(call) if self.asks(call.args) else _Verdict("approved")
        text = _DENIALS.get(verdict.kind)
        if text is not None:
            return _Gate(call, verdict, denial=_denial(call, self.name, verdict, text))
        if isinstance(given, str) and verdict.args is None:
            return _Gate(call, verdict, given)
        args = {**(call.args if verdict.args is None else verdict.args), **call.injected}
        return _Gate(call, verdict, {**given, "args": args} if _is_tool_call(given) else args)

    def _call(self, given: Any, call_id: str | None) -> _Call:
        """The call in any of its forms: a model's tool call, plain arguments or a single text."""
        args = given
        if _is_tool_call(given):
            call_id, args = given["id"], given["args"]
        args = {next(iter(self.args), "input"): args} if isinstance(args, str) else dict(args)
        runtime = args.get(self._runtime_arg)
        if self._arguments.runtime is None:
            args.pop(self._runtime_arg, None)
        injected = {name: args.pop(name) for name in self._arguments.injected if name in args}
        return _Call(call_id, args, injected, runtime if isinstance(runtime, ToolRuntime) else None)

    def _verdict(self, call: _Call) -> _Verdict:
        config = running_config(self.name)
        question = self.question(call.id, call.args)
        verdict = _read(round_of(config).answer(_questions_beside(call, config), question), self.name)
        if verdict.kind not in ("approved", "edited"):
            return verdict
        expires_at = question.value.get("expires_at")
        if expires_at is not None and datetime.now(UTC) > datetime.fromisoformat(expires_at):
            return _Verdict("expired", reason=f"It was possible until {expires_at}.")
        if verdict.args is None or verdict.args == call.args:
            return _Verdict("approved")
        if not self._policy.allow_edit:
            return _Verdict("invalid", reason="This tool's arguments may not be changed.")
        problem = self._arguments.problem(verdict.args)
        return _Verdict("invalid", reason=problem) if problem else verdict


def _is_tool_call(given: Any) -> bool:
    return isinstance(given, Mapping) and given.get("type") == "tool_call"


def _questions_beside(call: _Call, config: RunnableConfig) -> list[Question]:
    """The questions of all calls that share the task with this one, in the order of the model's message."""
    if call.runtime is None or call.id is None:
        return []
    tools = {tool.name: tool for tool in getattr(call.runtime, "tools", ())}
    questions = []
    for other in task_calls(config, call.runtime.state, call.id):
        tool = tools.get(other["name"])
        if isinstance(tool, _ApprovalTool) and other["id"] is not None:
            args = {name: value for name, value in other["args"].items() if name not in tool._arguments.injected}
            try:
                if tool.asks(args):
                    questions.append(tool.question(other["id"], args))
            except ValidationError:  # that call fails by itself, and asks nothing
                continue
    return questions


def _read(answer: Any, name: str) -> _Verdict:
    """The decision in an answer. Only an explicit yes, contradicted by nothing, approves."""
    if answer is True:
        return _Verdict("approved")
    if not isinstance(answer, Mapping):
        return _Verdict("denied")
    if answer.get("status") == "cancelled":
        return _Verdict("cancelled")
    said = [answer["approved"] is True] if "approved" in answer else []
    said += [answer["type"] in ("approve", "edit")] if "type" in answer else []
    if not said or not all(said):
        reason = answer.get("reason") or answer.get("message")
        return _Verdict("denied", reason=f"Their reason: {reason}" if isinstance(reason, str) else "")
    return _read_edits(answer, name)


def _read_edits(answer: Mapping[str, Any], name: str) -> _Verdict:
    edits, action = answer.get("editedArgs"), answer.get("edited_action")
    if action is not None:
        if not isinstance(action, Mapping) or action.get("name", name) != name:
            return _Verdict("invalid", reason="Another tool cannot be chosen.")
        edits = action.get("args")
    if edits is None and action is None and answer.get("type") != "edit":
        return _Verdict("approved")
    if not isinstance(edits, Mapping):
        return _Verdict("invalid", reason="They are not a JSON object.")
    return _Verdict("edited", dict(edits))


def _denial(call: _Call, name: str, verdict: _Verdict, text: str) -> ToolMessage | str:
    """The model gets this in place of the result: a tool message, or text for a call without an id."""
    text = f"{text.format(name=name)} {verdict.reason}".rstrip()
    if call.id is None:
        return text
    return ToolMessage(text, name=name, tool_call_id=call.id, additional_kwargs={APPROVAL: verdict.kind})


def _noted(result: Any, gate: _Gate) -> Any:
    """The result. If a person changed the arguments, it begins with a note: the model's message has the old ones."""
    if gate.verdict.kind != "edited":
        return result
    if isinstance(result, list):
        return [_noted(item, gate) for item in result]
    if isinstance(result, Command) and isinstance(result.update, dict):
        update = {
            key: _noted(value, gate) if isinstance(value, list) else value for key, value in result.update.items()
        }
        return replace(result, update=update)
    if not isinstance(result, ToolMessage) or result.tool_call_id != gate.call.id:
        return result
    args = json.dumps(gate.verdict.args, ensure_ascii=False, default=repr)
    note = _EDITED.format(name=result.name or "the tool", args=args)
    content: Any = result.content
    content = f"{note}\n\n{content}" if isinstance(content, str) else [{"type": "text", "text": note}, *content]
    marked = {**result.additional_kwargs, APPROVAL: gate.verdict.kind}
    return result.model_copy(update={"content": content, "additional_kwargs": marked})
