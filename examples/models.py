"""The chat model of an example: one that plays a script, or a real one if the command line names it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from yai_nexus_agentkit.testing import ScriptedChatModel

Script = Callable[[list[BaseMessage]], Any]
"""From the messages so far to the parts of the answer, so that one model serves any number of conversations."""


def chat_model(config: Mapping[str, Any], script: Script) -> BaseChatModel:
    """``--model provider:name`` gives LangChain's model of that name, its absence one that plays the script."""
    name = config.get("configurable", {}).get("model")
    if name is None:
        return ScriptedChatModel(script=script, pause=pause(config))
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise ImportError(
            "--model needs pip install 'yai-nexus-agentkit[langchain]' and the provider's package"
        ) from error
    return init_chat_model(name)


def pause(config: Mapping[str, Any]) -> float:
    """Seconds between two tokens of a script, so that there is something to watch; ``--configurable pause=0``."""
    return float(config.get("configurable", {}).get("pause", 0.03))


def words(text: str) -> list[str]:
    """A text as the tokens of an answer."""
    return [word + " " for word in text.split(" ")[:-1]] + text.split(" ")[-1:]
