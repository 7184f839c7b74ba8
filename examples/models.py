"""The chat model of an example: one that plays a script, or a real one if the command line names it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from yai_nexus_agentkit.testing import ScriptedChatModel

Script = Callable[[list[BaseMessage]], Any]
"""From the messages so far to the parts of the answer, so that one model serves any number of conversations."""


def chat_model(config: Mapping[str, Any], script: Script) -> BaseChatModel:
    """``--model provider:name`` gives LangChain's model of that name, its absence one that plays the script."""
    name = config.get("configurable", {}).get("model")
    if name is None:
        return ScriptedChatModel(script=script, pause=pause())
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise ImportError("--model needs langchain: pip install 'yai-nexus-agentkit[langchain]'") from error
    model: BaseChatModel = init_chat_model(name)
    return model


def pause() -> float:
    """Seconds between two tokens of a script, so that there is something to watch. Tests set EXAMPLE_PAUSE to 0."""
    return float(os.environ.get("EXAMPLE_PAUSE", "0.03"))


def words(text: str) -> list[str]:
    """A text as the tokens of an answer."""
    *most, last = text.split(" ")
    return [f"{word} " for word in most] + [last]


def question(messages: list[BaseMessage]) -> str:
    """The user's last message."""
    return next((message.text for message in reversed(messages) if isinstance(message, HumanMessage)), "")


def results(messages: list[BaseMessage]) -> list[str]:
    """The results of tools since then."""
    since = max((n for n, message in enumerate(messages) if isinstance(message, HumanMessage)), default=-1)
    return [message.text for message in messages[since + 1 :] if isinstance(message, ToolMessage)]


def call_id(messages: list[BaseMessage], name: str) -> str:
    """An id that no earlier call of the conversation has."""
    return f"{name}-{len(messages)}"
