"""The inline handler next to the event stream: it notes what v2 events lack, and gives messages their ids before the
graph stores them.

It runs before the stream's own handler, synchronously, in whatever thread the graph's code runs in. Each method is a
few dictionary operations.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager, Callbacks
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.errors import GraphBubbleUp

from yai_nexus_agentkit.adapter.langgraph.messages.written import tool_messages, written_messages
from yai_nexus_agentkit.adapter.langgraph.native.run_tree import has_node_tag, is_silent
from yai_nexus_agentkit.orchestration.events import EventEmitter

try:
    from langgraph.pregel._tools import _tool_call_writer
except ImportError:  # a private place; without it tools show their output when they return
    _tool_call_writer = None  # type: ignore[assignment]

__all__ = ["RunNotes", "SideHandler", "with_handler"]

_EMITTER = EventEmitter()


@dataclass(slots=True, kw_only=True)
class RunNotes:
    """Facts that v2 events lack, by run id. The handler of a run writes it, the run's translator reads it."""

    complete: bool
    """False where no handler watches (a replayed recording): then a call id that is missing means nothing."""
    calls: dict[str, str] = field(default_factory=dict)
    """Tool run -> the model's id of the call that it executes; missing for a tool that was run with plain arguments."""
    texts: dict[str, str] = field(default_factory=dict)
    """Tool run -> the text that it was run with instead of named arguments."""
    inside: dict[str, str] = field(default_factory=dict)
    """Run -> the tool run whose code started it, where its callbacks name another parent."""
    named: dict[str, bool] = field(default_factory=dict)
    """Chain -> whether somebody wrote its name (``run_name``, ``with_config``); missing if that cannot be seen."""
    structured: set[str] = field(default_factory=set)
    """Model calls whose output is data for the program, not words for the user."""
    failed_models: list[str] = field(default_factory=list)
    """Model calls that failed, until the translator takes them out."""
    errors: dict[str, BaseException] = field(default_factory=dict)
    """Chains, graphs, nodes and model calls that failed."""
    running: dict[str, float] = field(default_factory=dict)
    """When each running tool began (``time.monotonic``), by its run."""

    def oldest_tool(self) -> float | None:
        """When the longest running tool began."""
        return min(list(self.running.values()), default=None)


class SideHandler(BaseCallbackHandler):
    """One per run; writes `RunNotes`."""

    run_inline = True
    # LangChain asks for these at every callback; its base class answers by a function.
    ignore_chain = ignore_chat_model = ignore_llm = ignore_custom_event = False

    def __init__(self, notes: RunNotes) -> None:
        self._notes = notes
        self._nodes: dict[UUID, str] = {}
        """Checkpoint namespace of the running nodes."""
        self._models: dict[UUID, str] = {}
        """The same of the model calls whose words users see."""
        self._answers: dict[str, tuple[str, str]] = {}
        """Message id and namespace by the text of a model's answer: a node may store it in a message of its own."""
        self._tools: dict[UUID, UUID | None] = {}
        """Running tools, and the run that each has as parent."""

    def _started(self, run_id: UUID, parent_run_id: UUID | None) -> None:
        """Note a run whose parent is wrong. A tool that passes its ``config`` argument on gives its runs the node as
        parent: LangChain injects the node's config, not the tool's. The context still knows the tool."""
        if not self._tools:
            return
        config = var_child_runnable_config.get()
        inside = getattr((config or {}).get("callbacks"), "parent_run_id", None)
        if inside in self._tools and self._tools[inside] == parent_run_id:
            self._notes.inside[str(run_id)] = str(inside)

    def on_chat_model_start(
        self, serialized: Any, messages: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        self._started(run_id, parent_run_id)
        if (kwargs.get("options") or {}).get("ls_structured_output_format"):
            self._notes.structured.add(str(run_id))
        elif not is_silent(kwargs.get("tags") or ()):
            self._models[run_id] = _namespace(kwargs)

    def on_llm_end(self, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        namespace = self._models.pop(run_id, None)
        message = getattr(response.generations[0][0], "message", None) if namespace and response.generations else None
        if namespace and message is not None and message.id and message.content and (text := message.text):
            self._answers[text] = (message.id, namespace)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._notes.failed_models.append(str(run_id))
        self._notes.errors[str(run_id)] = error

    def on_llm_start(
        self, serialized: Any, prompts: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        self._started(run_id, parent_run_id)

    def on_tool_start(
        self, serialized: Any, input_str: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        self._started(run_id, parent_run_id)
        self._tools[run_id] = parent_run_id
        self._notes.running[str(run_id)] = time.monotonic()
        if (call_id := kwargs.get("tool_call_id")) is not None:
            self._notes.calls[str(run_id)] = call_id
        elif kwargs.get("inputs") is None:
            self._notes.texts[str(run_id)] = input_str
        if _tool_call_writer is not None:  # where `ToolRuntime.emit_output_delta` looks, in the tool's own context
            _tool_call_writer.set(_EMITTER.tool_output)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._tool_over(run_id)
        for n, message in enumerate(tool_messages(output)):
            if message.id is None:
                # From the tool's run, never from the call id: call ids recur within a thread.
                message.id = f"tool-{run_id}" if n == 0 else f"tool-{run_id}-{n}"

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._tool_over(run_id)

    def _tool_over(self, run_id: UUID) -> None:
        self._tools.pop(run_id, None)
        self._notes.running.pop(str(run_id), None)

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        self._started(run_id, parent_run_id)
        if has_node_tag(kwargs.get("tags") or ()):
            self._nodes[run_id] = _namespace(kwargs)
        elif (given := _name_is_given()) is not None:
            self._notes.named[str(run_id)] = given

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        namespace = self._nodes.pop(run_id, None)
        if namespace is None:
            return
        written = [message for message in written_messages(outputs) if isinstance(message, BaseMessage)]
        taken = {message.id for message in written}
        for message in written:
            if message.id is None:
                # As `add_messages` would, but before the node's end event.
                message.id = self._streamed_as(message, namespace, taken) or str(uuid4())

    def _streamed_as(self, message: BaseMessage, namespace: str, taken: set[str | None]) -> str | None:
        """The id under which a model of this node streamed this very text. A node may make a message again from the
        answer (``AIMessage(text)``, a parser's output). With the same id, the client needs no snapshot."""
        if not isinstance(message, AIMessage) or message.tool_calls or not message.text:
            return None
        found = self._answers.get(message.text)
        if found is None or found[0] in taken or not found[1].startswith(namespace):
            return None
        del self._answers[message.text]
        taken.add(found[0])
        return found[0]

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._nodes.pop(run_id, None)
        if not isinstance(error, GraphBubbleUp):
            self._notes.errors[str(run_id)] = error


def with_handler(callbacks: Callbacks, handler: BaseCallbackHandler) -> Callbacks:
    """The callbacks and this handler."""
    if isinstance(callbacks, BaseCallbackManager):
        callbacks = callbacks.copy()
        callbacks.add_handler(handler, inherit=True)
        return callbacks
    if callbacks is None:
        # A surrounding run hands its callbacks down to what brings none of its own.
        outer = (var_child_runnable_config.get() or {}).get("callbacks")
        if outer is not None:
            return with_handler(outer, handler)
    return [*(callbacks or ()), handler]


def _namespace(kwargs: Any) -> str:
    return str((kwargs.get("metadata") or {}).get("langgraph_checkpoint_ns") or "")


def _name_is_given() -> bool | None:
    """Whether the chain that starts has its name from a configuration (``run_name``); None if that cannot be seen.

    LangChain reports a name that somebody wrote and the name of a function in the same way, and nothing public has the
    configuration of a run that starts: `serialized` is None for functions, the context still has that of the parent.
    It is in the frame that asks the callback manager to start the run, a few frames up.
    """
    frame = sys._getframe(2)
    while frame.f_back is not None:
        caller = frame.f_back
        if frame.f_code.co_name == "on_chain_start" and isinstance(frame.f_locals.get("self"), BaseCallbackManager):
            config = caller.f_locals.get("config")
            return bool(config.get("run_name")) if isinstance(config, dict) else None
        frame = caller
    return None
