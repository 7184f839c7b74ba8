"""Pure. What a request means for the thread: what goes into the graph, and what the client is known to hold. Decided
before the graph runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import Message
from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.types import Interrupt as NativeInterrupt

from yai_nexus_agentkit.adapter.langgraph.questions import Breakpoint
from yai_nexus_agentkit.protocol.thread_calls import ThreadCalls

__all__ = ["Plan"]


@dataclass(slots=True)
class Plan:
    """One request, understood."""

    input: Any = None
    """The graph's input; a ``Command`` resumes, ``None`` goes on where the thread stopped."""
    follow_up: Callable[[Sequence[BaseMessage]], Any] | None = None
    """Makes the input of a second pass, when the first one does not pause, from the thread's messages at its end:
    messages that may only come after the answers of open calls. It makes None if they must wait for another request."""
    unsaid: Sequence[BaseMessage] = ()
    """What the user says in `follow_up`: the client shows it, the thread gets it only then."""
    calls: ThreadCalls = field(default_factory=ThreadCalls)
    """The thread's tool calls."""
    taken: Mapping[str, str] = field(default_factory=dict)
    """Role of every message id that the client or the thread holds."""
    request: Sequence[Message] = ()
    """The request's messages: the conversation of a graph that keeps none."""
    held: Sequence[str] = ()
    """Ids of the request's messages, in its order."""
    foreign: Sequence[Message] = ()
    """Subagent messages of the request."""
    nested: Sequence[BaseMessage] = ()
    """Messages of paused subgraphs."""
    in_sync: bool = True
    """Apart from the request's new messages, the client holds exactly what the thread does."""
    lacking: bool = False
    """The thread holds messages that the client lacks, or has otherwise."""
    told: Mapping[str, str] = field(default_factory=dict)
    """Texts by message id that the client was told, where a saver could not keep them as they were."""
    answers: Sequence[ToolMessage] = ()
    """Error answers made for calls that nobody answered, so that a model accepts the conversation."""
    resumable: bool = True
    """The graph has a checkpointer: a question can be answered."""
    idle: bool = False
    """The graph does not run: the request brings nothing new, or leaves the open questions unanswered."""
    values: Any = None
    """What the thread holds, for a run that does not see it: an idle one, or one whose input writes no channel."""
    messages: Sequence[BaseMessage] = ()
    unseen: bool = False
    """The input writes no channel, so the graph does not show the thread's values before its first step."""
    open: Sequence[NativeInterrupt] = ()
    """Open questions of an idle run, to be restated."""
    breakpoints: Sequence[Breakpoint] = ()
