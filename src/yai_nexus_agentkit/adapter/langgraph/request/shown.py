"""The thread as clients are shown it: a request is compared with that, since hooks may redact what the thread holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ag_ui.core import Message
from langchain_core.messages import BaseMessage

from yai_nexus_agentkit.adapter.hook_calls import shown_messages, shown_state
from yai_nexus_agentkit.adapter.langgraph.messages.convert import client_form, to_agui
from yai_nexus_agentkit.adapter.langgraph.request.graph_input import changed_state
from yai_nexus_agentkit.adapter.langgraph.shape import GraphShape
from yai_nexus_agentkit.adapter.run_context import RunContext

__all__ = ["ShownThread"]


class ShownThread:
    """The thread as the client of one request sees it."""

    def __init__(self, run: RunContext, shape: GraphShape, foreign: Sequence[Message]) -> None:
        """`foreign`: the client's messages that only it holds."""
        self._run, self._shape, self._foreign = run, shape, foreign

    def changes(self, values: Any, pending: Mapping[str, Sequence[Any]] | None = None) -> dict[str, Any]:
        """The request's changes of these values of the state. `pending`: writes that the values lack, by channel."""
        sent = self._run.run_input.state
        if self._run.hooks.on_state is None:
            return changed_state(sent, values, self._shape, None, pending)
        shown = shown_state(self._run, self._shape.state_of(values))
        changed = changed_state(sent, values, self._shape, shown, pending)
        # A key that the thread lacks yet is the client's to set only if clients would see it.
        held = values if isinstance(values, Mapping) else {}
        fresh = {key: (sent or {})[key] for key in changed if key in self._shape.public and key not in held}
        hidden = fresh.keys() - shown_state(self._run, fresh).keys() if fresh else ()
        return {key: value for key, value in changed.items() if key not in hidden}

    def messages(self, held: Sequence[BaseMessage]) -> dict[str, Message] | None:
        """These messages as the `on_messages` hook lets clients see them, by id; None without that hook."""
        if self._run.hooks.on_messages is None:
            return None
        form = client_form(self._run.options, declared=self._run.declared)
        own = to_agui(held, **form, foreign=self._foreign)
        return {m.id: m for m in shown_messages(self._run, [*own, *(m.model_copy() for m in self._foreign)])}
