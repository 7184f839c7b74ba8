"""Agents as OpenAI-compatible models: the settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import PositiveInt

from yai_nexus_agentkit.checks import check_options
from yai_nexus_agentkit.runs.identity import Identity

__all__ = ["Keys", "OpenAISettings"]

Owner: TypeAlias = str | bool | Identity | None
"""Of a key: their name, or their identity; True for a key without a name; None or False for a wrong key."""
Keys: TypeAlias = Collection[str] | Mapping[str, str | Identity] | Callable[[str], Owner | Awaitable[Owner]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAISettings:
    """How agents look as models, each setting with its default."""

    path: str = "/v1"
    """The base path: clients call it the base URL, together with the server's address."""

    keys: Collection[str] | Mapping[str, Any] | Callable[[str], Any] | None = None
    """Who may call: the API keys; or a mapping of keys to the names of users, or to their `Identity`; or a function, or
    coroutine function, that gets the key and returns one of these, True, or None for a wrong key. A key without a name
    (True, or ``""``) is a user of its own. None: ``ServerSettings.identity`` decides."""

    default_model: str | None = None
    """The agent that answers requests without a model. None: the first one."""

    sessions: Literal["conversation", "user", "header", "none"] = "conversation"
    """The sign of a conversation, where no header names it: its beginning (the user and their first message), the user
    alone (one thread for each, in which only new messages count), or nothing: each request gets a
    thread of its own, with the posted messages. ``"none"`` ignores headers too. The first two do so for requests
    without a user: a ``user`` in the body, or a user of the key or `ServerSettings.identity`."""

    conversation_headers: Collection[str] = ("X-OpenWebUI-Chat-Id", "X-Conversation-Id")
    """Headers that name the thread; the first one that is present counts. The defaults are Open WebUI's, and the one
    that LibreChat is set up to send."""

    tasks: Collection[str] = ("### Task:", "Provide a concise, 5-word-or-less title")
    """A request of one message that begins with one of these asks for a title, for tags or for further questions (Open
    WebUI, LibreChat). It gets a thread of its own."""

    show_tools: Literal["hidden", "reasoning"] = "hidden"
    """How the work of the server's tools is shown: not at all, or as lines of the reasoning."""

    reasoning: bool = True
    """Send the model's reasoning, as ``reasoning_content``."""

    questions: Literal["auto", "text"] = "auto"
    """How a question of the agent is asked. ``auto``: as a call of the ``question_tool`` if the caller declares such a
    tool, otherwise as text that the next message answers. ``text``: always as text."""

    question_tool: str = "ask_user"
    """The name of the caller's tool that asks the user. Its arguments are ``question``, ``reason`` and ``schema``."""

    max_runs_per_key: PositiveInt | None = None
    """Runs at once of one key (without keys: of one user). More are refused with 429."""

    requests_per_minute: PositiveInt | None = None
    """Requests of one key in a minute. More are refused with 429 and the time to wait."""

    def __post_init__(self) -> None:
        check_options(self)
        if not self.path.startswith("/") or self.path.rstrip("/") == "":
            raise ValueError(f"OpenAISettings.path must be a path such as '/v1', not {self.path!r}")
