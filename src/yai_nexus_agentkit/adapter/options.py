"""The options of an adapter. Frozen, and shared by all of its runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pydantic import PositiveFloat

from yai_nexus_agentkit.checks import check_options
from yai_nexus_agentkit.protocol.reasoning import ReasoningMode

if TYPE_CHECKING:
    from yai_nexus_agentkit.adapter.native_run import NativeRun

__all__ = ["AdapterOptions", "Visible"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visible:
    """The models, tools and nodes that clients see: those that match each of the given sets (or lists). ``None``
    matches all."""

    nodes: Collection[str] | None = None
    """Names of nodes. Everything that runs inside of a named node matches too."""

    tags: Collection[str] | None = None
    """A model or tool run matches if it has one of these tags. Nodes have no tags and always match."""

    names: Collection[str] | None = None
    """Names of model and tool runs. Nodes always match."""

    def __post_init__(self) -> None:
        check_options(self)
        for name in ("nodes", "tags", "names"):
            given = getattr(self, name)
            object.__setattr__(self, name, None if given is None else frozenset(given))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterOptions:
    """Settings of an adapter, each with its default first. `AGUIAdapter` refuses an option that the agent's framework
    does not have."""

    custom_events: Literal["emitter", "all"] = "emitter"
    """Which custom events become ``CUSTOM``: those of `EventEmitter` only, or also LangChain's
    (`adispatch_custom_event`) and what nodes write to LangGraph's stream writer. The default hides a graph's internal
    events from clients."""

    messages_snapshot: Literal["auto", "always", "never"] = "auto"
    """When a run ends with a ``MESSAGES_SNAPSHOT``: if the client's messages differ from the thread's, always, or only
    before an interrupt."""

    marked_messages: Literal["developer", "user"] = "developer"
    """The role of messages that middleware writes under the user's name: a summary, a grader's feedback. LangChain
    marks them; clients get the mark as metadata (``lc_source``). Chats do not show developer messages. LangGraph
    only."""

    functional_input: Literal["declared", "messages", "mapping"] = "declared"
    """The argument of a functional graph (``@entrypoint``). ``declared``: a list of messages if it is declared as one,
    otherwise a mapping with ``messages`` and the state. ``messages``: always the list. ``mapping``: always the mapping.
    LangGraph only."""

    hold: Literal["declared", "answer", "never"] = "declared"
    """Which answers wait until the middleware behind the model is done with them: those of agents whose middleware
    declares that it rewrites answers (LangChain's `PIIMiddleware` does), all, or none. LangGraph only."""

    final_state_snapshot: bool = False
    """Send a ``STATE_SNAPSHOT`` at the end of each run, even if the deltas sent everything. For clients that ignore
    deltas."""

    reasoning: ReasoningMode = "standard"
    """Send reasoning as ``REASONING_*``, as the ``THINKING_*`` that clients 0.0.37 to 0.0.44 know, or not at all."""

    chain_spans: Literal["named", "all", "off"] = "named"
    """Which chains inside nodes are shown as titled reasoning spans: those with a name that somebody wrote
    (``run_name``), every chain, or none. The name of a function or class does not count. LangGraph only."""

    interrupts: Literal["outcome", "custom", "both"] = "outcome"
    """Send a question to the user as the structured outcome of the run (AG-UI 1.0), as the ``on_interrupt`` CUSTOM
    event of clients before 0.0.54, or as both."""

    subagents: Literal["auto", "always", "never"] = "auto"
    """When ``SUBAGENT_*`` events are sent: to clients that declared a version, always (clients from 0.0.59 on
    understand them), or never. Events always have their ``subagentRunId``."""

    step_name: Callable[[NativeRun], str | None] | None = None
    """Returns the name of a node's step, or None to hide the step. Default: the node's path, and no step for hooks of
    LangChain's middleware. Called once when a node begins, hooks included."""

    visible: Callable[[NativeRun], bool] | Visible | None = None
    """Which models, tools and nodes clients see. A function is called once when one begins, and returns True or False.
    Messages that are stored in the thread are always sent."""

    text_chunks: bool = False
    """Send text and tool calls as ``TEXT_MESSAGE_CHUNK`` and ``TOOL_CALL_CHUNK`` instead of start, content and end."""

    predict_state: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Maps a state key to (tool, argument): the key is filled from the argument while the model writes it. The real
    state corrects it at the end of the step."""

    predict_state_event: bool = False
    """Also send CopilotKit's ``PredictState`` CUSTOM event before a run's first predicted call."""

    raw_events: bool = False
    """Attach the native event to each AG-UI event. For debugging only: it multiplies the bytes of an answer, and shows
    clients everything in the graph's state."""

    source: Literal["events", "callbacks"] = "events"
    """How the graph is observed: by LangChain's ``astream_events``, or by an inline callback handler next to
    ``astream`` (less than half the cost). LangGraph only."""

    execution_timeout: PositiveFloat | None = None
    """Longest time of a run, in seconds. After it the run is cancelled and ends with ``EXECUTION_TIMEOUT``."""

    idle_timeout: PositiveFloat | None = None
    """Longest time without a native event, in seconds. After it the run is cancelled and ends with ``IDLE_TIMEOUT``."""

    tool_timeout: PositiveFloat | None = None
    """Longest time of one tool, in seconds. After it the run is cancelled and ends with ``TOOL_TIMEOUT``."""

    durability: Literal["sync", "async", "exit"] | None = None
    """When LangGraph writes checkpoints; ``None`` leaves it to LangGraph. LangGraph only."""

    def __post_init__(self) -> None:
        check_options(self)
