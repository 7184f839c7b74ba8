"""The plan of a request, made before the graph runs: a `Run`, a `Resume`, a `Restate` or an `Idle`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ag_ui.core import Message
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.types import Interrupt as NativeInterrupt

from yai_nexus_agentkit.adapter.langgraph.questions import Breakpoint
from yai_nexus_agentkit.adapter.langgraph.threads.savers import GivenIds
from yai_nexus_agentkit.errors import RunInputError
from yai_nexus_agentkit.protocol.calls import ThreadCalls

__all__ = ["Held", "Idle", "Known", "Plan", "Restate", "Resume", "Run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The client's and the thread's knowledge of each other when the run begins."""

    request: Sequence[Message] = ()
    """The client's messages, in its order."""
    calls: ThreadCalls = field(default_factory=ThreadCalls)
    """The tool calls that either of them holds. The run adds its own while it streams."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """Role of every message that either of them holds, by id."""
    nested: Sequence[BaseMessage] = ()
    """Messages of paused subgraphs, which the thread gets when the subgraph ends."""
    in_sync: bool = True
    """Apart from the request's new messages, the client holds exactly what the thread does."""
    lacking: bool = False
    """The thread holds messages that the client lacks, or holds otherwise."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Texts that the client was sent, by message id, where a saver could not store them as they were."""
    given_ids: GivenIds = field(default_factory=GivenIds)
    """Ids of messages that the run's nodes write without one, as they are stored."""
    resumable: bool = True
    """The graph has a checkpointer: a question can be answered."""


@dataclass(frozen=True, slots=True)
class Held:
    """The content of a thread, for runs that do not show it by themselves before their first step."""

    values: Any = None
    messages: Sequence[BaseMessage] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The graph runs on new input."""

    agent: Runnable[Any, Any]
    config: RunnableConfig
    known: Known = field(default_factory=Known)
    input: Any = None
    """None: the input is in the checkpoint at which the run starts."""
    error_results: Sequence[ToolMessage] = ()
    """Error results for calls that nobody answered, so that a model accepts the conversation. Part of the input."""
    unseen: Held | None = None
    """Set for an input that writes no channel: then the graph shows its values only after the first step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """The graph goes on where the thread stopped: at questions, at a breakpoint, or where it failed."""

    agent: Runnable[Any, Any]
    config: RunnableConfig
    known: Known
    input: Any
    """A ``Command`` with answers and what came along with them; None if there is nothing to give."""
    held: Held
    """The thread with what comes along with the answers, and with what the finished tasks of its last step wrote; the
    graph's own first values lack that."""
    later: Sequence[BaseMessage] = ()
    """New messages of the user that must wait for the results of open calls: the input of a second pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restate:
    """The thread waits for answers, and the request brings none: the questions are asked again. Nothing runs."""

    known: Known
    held: Held
    """With the request's new messages, which the thread gets when the answers come."""
    questions: Sequence[NativeInterrupt] = ()
    breakpoints: Sequence[Breakpoint] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """The request brings nothing new: the client is shown what the thread holds. Nothing runs."""

    known: Known
    held: Held
    refused: RunInputError | None = None
    """Why the request brings nothing new, if it meant to."""
    unfinished: bool = False
    """The thread's last run was stopped, failed or lost its worker, and the request only looks at the thread."""


Plan: TypeAlias = Run | Resume | Restate | Idle
