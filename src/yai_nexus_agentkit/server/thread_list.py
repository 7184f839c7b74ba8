"""Edge. The lists of a user's threads, runs and connections: what a request asks of them, how an entry is shown."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ag_ui.core import RunAgentInput
from pydantic_core import to_json
from starlette.requests import Request

from yai_nexus_agentkit.protocol.json.json_safe import clean_text
from yai_nexus_agentkit.runs.identity import ThreadRef
from yai_nexus_agentkit.runs.index import ThreadEntry
from yai_nexus_agentkit.runs.live_run import LiveRun
from yai_nexus_agentkit.runs.remote_run import RemoteRun
from yai_nexus_agentkit.runs.routing import Connection
from yai_nexus_agentkit.server.settings import ServerSettings
from yai_nexus_agentkit.transport.wire import Refusal

__all__ = ["description", "page_of", "shown_connection", "shown_entries", "shown_entry", "shown_run", "title_of"]

_logger = logging.getLogger(__name__)

_MAX_LIST = 1000
_MAX_TEXT = 200
"""Characters of a title, and of what is searched for."""
_MAX_METADATA = 16 * 1024
"""Bytes of a thread's metadata as JSON."""


def shown_entries(entries: Sequence[ThreadEntry]) -> list[dict[str, Any]]:
    """The list as clients get it."""
    return [shown_entry(entry) for entry in entries]


def shown_entry(entry: ThreadEntry) -> dict[str, Any]:
    """One thread as clients get it."""
    return {
        "threadId": entry.thread.id,
        "status": entry.status,
        "title": clean_text(entry.title),
        "metadata": entry.metadata,
        "createdAt": _iso(entry.created),
        "updatedAt": _iso(entry.updated),
    }


def title_of(settings: ServerSettings, asked: RunAgentInput) -> str:
    """The thread's title if it has none yet. An application's function that fails does not stop the run."""
    try:
        return settings.thread_title(asked)
    except Exception:
        _logger.exception("thread_title failed")
        return ""


def shown_run(run: LiveRun | RemoteRun) -> dict[str, Any]:
    """An active run as clients get it."""
    return {"runId": run.run_input.run_id, "status": "running", "viewers": run.feed.viewers}


def shown_connection(connection: Connection) -> dict[str, Any]:
    """One web socket as its user gets it."""
    return {
        "connectionId": connection.id,
        "device": clean_text(connection.device),
        "abilities": connection.abilities,
        "threadId": clean_text(connection.thread),
        "since": _iso(connection.since),
    }


def page_of(request: Request, thread: Callable[[str], ThreadRef]) -> dict[str, Any]:
    """The arguments of `ThreadIndex.entries`: ``limit``, ``before``, ``beforeId`` and ``search`` of the query.
    ``beforeId`` counts only with ``before``. `thread`: the user's thread with an id. Raises `Refusal`."""
    limit = _number(request, "limit", 100)
    if not 1 <= limit <= _MAX_LIST:
        raise Refusal(422, "INVALID_QUERY", f"limit must be between 1 and {_MAX_LIST}")
    search = request.query_params.get("search", "")
    if len(search) > _MAX_TEXT:
        raise Refusal(422, "INVALID_QUERY", f"search has at most {_MAX_TEXT} characters")
    page = {"limit": limit, "before": _moment(request, "before"), "search": search}
    last = request.query_params.get("beforeId")
    if last is None or page["before"] is None:
        return page
    return {**page, "before_key": thread(last).key}


def description(body: Any) -> dict[str, Any]:
    """The arguments of `ThreadIndex.describe`: title, metadata or both. Raises `Refusal`."""
    if not isinstance(body, Mapping) or not body or not body.keys() <= {"title", "metadata"}:
        raise _invalid("", "the body must be an object with a title, metadata or both")
    if "title" in body:
        title = body["title"]
        if not isinstance(title, str) or len(title) > _MAX_TEXT:
            raise _invalid("/title", f"a title must be a string of at most {_MAX_TEXT} characters")
    if "metadata" in body:
        metadata = body["metadata"]
        if not isinstance(metadata, Mapping) or len(to_json(metadata)) > _MAX_METADATA:
            raise _invalid("/metadata", f"metadata must be an object of at most {_MAX_METADATA} bytes")
    return dict(body)


def _invalid(path: str, text: str) -> Refusal:
    return Refusal(422, "INVALID_INPUT", text, path=path)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        return int(text)
    except ValueError:
        raise Refusal(422, "INVALID_QUERY", f"{name} is not a whole number") from None


def _moment(request: Request, name: str) -> float | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text.replace(" ", "+")).timestamp()
    except (ValueError, OverflowError, OSError):
        raise Refusal(422, "INVALID_QUERY", f"{name} is not a date and time (ISO 8601)") from None
