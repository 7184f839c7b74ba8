"""Pure. Who sends a request, and which thread it means: a thread is (agent, user, threadId), never the id alone."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from yai_nexus_agentkit.adapter.worker_mark import WORKER_KEY, worker_mark
from yai_nexus_agentkit.checks import check_options

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ["ANONYMOUS", "Identity", "ThreadRef", "run_config", "thread_key"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The sender of a request, as the application's resolver knows them. Nothing of it comes from the body."""

    user: str = ""
    """A stable id of the user (or tenant and user). All requests of the empty user share their threads."""

    thread: str | None = None
    """The thread on the server, where it is not the request's ``threadId``; the client's id is echoed all the same."""

    config: RunnableConfig | None = None
    """LangChain configuration of this user's runs: ``configurable``, tags, metadata, callbacks."""

    context: Any = None
    """LangGraph's runtime context of this user's runs."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further content of ``RunContext.request`` for hooks: roles, locale, ..."""

    def __post_init__(self) -> None:
        """Raises ValueError for values of other types: a session without a user would share None's threads."""
        check_options(self)
        if self.config is not None and not isinstance(self.config, Mapping):
            raise ValueError(f"Identity.config must be a mapping or None, not {self.config!r}")


ANONYMOUS = Identity()


@dataclass(frozen=True, slots=True)
class ThreadRef:
    """One user's thread with one agent."""

    agent: str
    user: str
    id: str
    """The id that the client knows."""
    key: str
    """The id that the graph, its checkpointer and the locks know."""


def thread_key(agent: str, user: str, thread_id: str, secret: bytes = b"") -> str:
    """The server's id of a thread: 64 hexadecimal digits.

    Different triples never meet, whatever characters they hold. With a `secret` nobody else can compute the key;
    without one it still cannot be reached by choosing a ``threadId``, since every id a client sends is hashed.
    """
    named = json.dumps([agent, user, thread_id]).encode()
    return hmac.digest(secret or b"yai_nexus_agentkit.thread", named, hashlib.sha256).hex()


def run_config(given: RunnableConfig | None, key: str, *, alone: bool = False) -> RunnableConfig:
    """The identity's configuration, for this thread and no other. `alone`: checkpoints say which process wrote them."""
    config: RunnableConfig = {**(given or {})}
    if alone:
        config["metadata"] = {**(config.get("metadata") or {}), WORKER_KEY: worker_mark()}
    config["configurable"] = {**(config.get("configurable") or {}), "thread_id": key}
    return config
