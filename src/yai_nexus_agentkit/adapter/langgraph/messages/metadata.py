"""Pure. What messages and events carry besides their content, in ``metadata`` and ``additional_kwargs``.

Facts for which AG-UI has no field are under one key. Middleware writes instructions for the model under the user's
name: a summary, the feedback of a grader, a notice. LangChain marks such a message
(``langchain_core.messages.notification``): ``lc_source`` in ``additional_kwargs`` names the feature that added it,
``lc_data`` has its facts. On the wire both are members of the message's metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ag_ui.core import Message
from langchain_core.messages import BaseMessage

from yai_nexus_agentkit.protocol.json.json_safe import json_safe

__all__ = ["SOURCE", "is_marked", "is_users", "is_withheld", "mark_of", "marks_in", "metadata", "revealed", "withheld"]

SOURCE = "langgraph"
"""The name of this framework: of its sources, and the key of its facts."""


def metadata(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata that holds these facts."""
    return {SOURCE: dict(facts)}


M = TypeVar("M", bound=BaseMessage)
_SOURCE, _DATA = "lc_source", "lc_data"
_WITHHELD = "agui_withheld"
"""Our mark, in ``additional_kwargs``, of a message that clients must not see."""


def mark_of(message: BaseMessage) -> dict[str, Any]:
    """The mark of a message; empty for one without."""
    return marks_in(message.additional_kwargs)


def marks_in(members: Any) -> dict[str, Any]:
    """The mark among these members, as JSON data: ``additional_kwargs``, or the metadata of a message on the wire."""
    source = members.get(_SOURCE) if isinstance(members, Mapping) else None
    if not isinstance(source, str) or not source:
        return {}
    return {key: json_safe(members[key]) for key in (_SOURCE, _DATA) if key in members}


def withheld(message: M) -> M:
    """A copy of a message, marked as one that clients must not see."""
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, _WITHHELD: True}})


def is_withheld(message: BaseMessage) -> bool:
    """The message is marked so."""
    return bool(message.additional_kwargs) and message.additional_kwargs.get(_WITHHELD) is True


def revealed(message: M) -> M:
    """A copy without that mark."""
    kept = {key: value for key, value in message.additional_kwargs.items() if key != _WITHHELD}
    return message.model_copy(update={"additional_kwargs": kept})


def is_users(message: BaseMessage) -> bool:
    """The user wrote this message, and no middleware did."""
    return message.type == "human" and not (message.additional_kwargs and mark_of(message))


def is_marked(message: Message) -> bool:
    """A message of a client that middleware had added: no client makes one."""
    return bool(marks_in(message.metadata))
