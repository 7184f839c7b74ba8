"""Edge. Which parts of a request reach the agent: files that are named by URL, and instructions of the client.

What the thread has already was admitted before, and counts as it is.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ag_ui.core import DataSource, FileSource, Message, RunAgentInput, UrlSource

from yai_nexus_agentkit.adapter.agui_adapter import AGUIAdapter
from yai_nexus_agentkit.errors import MediaError, RunInputError
from yai_nexus_agentkit.protocol.fetched_media import has_fetched, unmarked, with_file
from yai_nexus_agentkit.protocol.linked_media import find_media, linked_id
from yai_nexus_agentkit.protocol.parts import MediaPart
from yai_nexus_agentkit.server.caller import Caller
from yai_nexus_agentkit.server.fetching.addresses import is_local_name
from yai_nexus_agentkit.server.fetching.fetcher import Files
from yai_nexus_agentkit.transport.wire import Posted

__all__ = ["Admission"]

_logger = logging.getLogger(__name__)
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_PLAIN = re.compile(r"https://[^\s\\@\x00-\x1f\x7f]{1,8192}", re.IGNORECASE)
"""URLs whose host all programs read in the same way."""
_SHOWN = ("image/", "audio/", "video/", "application/pdf")
"""Types of files that a picture, a sound or a video may turn out to be: some clients call all of them pictures."""


class _Named(NamedTuple):
    """A part that brings or names a file, and where it stands."""

    message: Message
    at: tuple[int, int]
    part: MediaPart


class Admission:
    """Decides for one request. One object per request."""

    def __init__(
        self, caller: Caller, posted: Posted, adapter: AGUIAdapter, in_time: Callable[[Awaitable[Any]], Awaitable[Any]]
    ) -> None:
        """`in_time` awaits the storage of threads."""
        self._settings, self._caller, self._posted, self._in_time = caller.settings, caller, posted, in_time
        self._system = self._settings.client_system or ("drop" if adapter.source.instructs else "allow")
        self._added = adapter.source.added
        self._held: dict[str, Message] | None = None

    async def admitted(self, asked: RunAgentInput, resources: AsyncExitStack) -> RunAgentInput:
        """The request as the agent gets it. Its files count towards the fetcher's memory until `resources` is closed.

        Raises `RunInputError`, `MediaError` among them, and `OverloadedError`.
        """
        parted = any(message.content.__class__ is list for message in asked.messages)  # few threads have files
        messages = await self._instructed(asked, list(map(_unmarked, asked.messages)) if parted else asked.messages)
        if parted and (wanted := await self._judged(messages)):
            files = await self._fetched(asked, wanted)
            resources.callback(files.release)
            messages = self._with_files(messages, wanted, files)
        return asked if messages == asked.messages else asked.model_copy(update={"messages": messages})

    # ------------------------------------------------------------------ instructions

    async def _instructed(self, asked: RunAgentInput, messages: list[Message]) -> list[Message]:
        """The messages without new instructions of the client, and with the thread's in place of changed ones."""
        given = [m for m in messages if m.role in ("system", "developer") and not self._added(m)]
        if self._system == "allow" or not given:
            return messages
        held = await self._thread()
        strange = {m.id for m in given if m.id not in held or _said(held[m.id]) != _said(m)}
        if not strange:
            return messages
        if self._system == "refuse":
            number, first = next((n, m) for n, m in enumerate(messages) if m.id in strange)
            path = next(_paths(self._posted.body, lambda one: _is_message(one, first.id)), f"/messages/{number}")
            raise RunInputError(f"messages of the role {first.role} are not accepted", path=path)
        why = "ServerSettings.client_system" if self._settings.client_system else "the agent has its own"
        _logger.warning("request of run %r: instructions dropped: %s (%s)", asked.run_id, sorted(strange), why)
        return [held.get(m.id, m) if m.id in strange else m for m in messages if m.id not in strange or m.id in held]

    # ------------------------------------------------------------------ files

    async def _judged(self, messages: Sequence[Message]) -> list[_Named]:
        """The files to fetch. Raises `MediaError` for the first one that is not accepted."""
        found = [(one, self._fault(one.part)) for one in _named(messages)]
        found = [(one, fault) for one, fault in found if fault is not None]
        if found:
            held = await self._thread()
            found = [(one, fault) for one, fault in found if not self._is_known(one, held)]
        for one, fault in found:
            if fault:
                raise MediaError(fault, path=self._place(one))
        return [one for one, _ in found]

    def _fault(self, part: MediaPart) -> str | None:
        """Why a file is not accepted; ``""`` if it is to be fetched, None if there is nothing to do."""
        source, mode = part.source, self._settings.media
        if isinstance(source, DataSource):
            most = self._settings.fetcher.size
            return f"it is larger than {most} bytes" if mode == "fetch" and len(source.value) * 3 // 4 > most else None
        if source.value.startswith("data:") or (isinstance(source, FileSource) and not _SCHEME.match(source.value)):
            return None
        if mode == "refuse":
            return "URLs of files are not accepted; send the data"
        if mode == "fetch" and isinstance(source, UrlSource):
            return ""
        return None if self._is_public(source.value) else "only URLs of public https hosts are accepted"

    def _is_public(self, url: str) -> bool:
        """Whether a URL, by its form, leads to a public host by https, or to a listed one."""
        if not _PLAIN.fullmatch(url):
            return False
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            return False
        return bool(host) and (self._settings.fetcher.lists(host) or not is_local_name(host))

    def _is_known(self, one: _Named, held: Mapping[str, Message]) -> bool:
        """Whether the thread has the message with this file, or what a link of this server stands for. What is fetched
        must not change: a user's message that says something else is a new one."""
        message = held.get(one.message.id)
        if message is not None and message.role == one.message.role:
            if _said(message) == _said(one.message):
                return True
            fixed = self._settings.media != "fetch" or message.role == "tool"
            if fixed and isinstance(message.content, list) and _file(one.part) in map(_file, message.content):
                return True
        link = linked_id(one.part.source.value) if isinstance(one.part.source, UrlSource) else None
        if link is None:
            return False
        key = self._caller.thread(self._posted.run_input.thread_id).key
        return find_media(list(held.values()), key, link) is not None

    async def _fetched(self, asked: RunAgentInput, wanted: Sequence[_Named]) -> Files:
        """The files. Several parts may name the same one."""
        first = {one.part.source.value: str(n) for n, one in reversed(list(enumerate(wanted)))}
        try:
            return await self._settings.fetcher.fetch(first)
        except MediaError as error:
            one = wanted[int(error.path)]
            url = one.part.source.value.partition("?")[0][:200]  # what follows may be a signature
            text = "request of run %r: a file was not fetched (%r): %s (%s)"
            _logger.warning(text, asked.run_id, url, error.reason, error.detail)
            raise MediaError(error.reason, path=self._place(one)) from error.__cause__

    def _with_files(self, messages: list[Message], wanted: Sequence[_Named], files: Files) -> list[Message]:
        """The messages with the data in place of URLs. Raises `MediaError` for a picture that is a page."""
        contents: dict[int, list[Any]] = {}
        for one in wanted:
            file = files.by_url[one.part.source.value]
            if one.part.type != "document" and not file.mime_type.startswith(_SHOWN):
                raise MediaError(f"it is {file.mime_type}, not of the type {one.part.type}", path=self._place(one))
            number, place = one.at
            parts = contents.setdefault(number, list(one.message.content))  # type: ignore[arg-type]
            parts[place] = with_file(one.part, file.value, file.mime_type)
        return [m.model_copy(update={"content": contents[n]}) if n in contents else m for n, m in enumerate(messages)]

    async def _thread(self) -> dict[str, Message]:
        """The thread's messages by id. Read once, and only where something has to be decided."""
        if self._held is None:
            thread_id = self._posted.run_input.thread_id
            held = await self._in_time(self._caller.history(thread_id, media=True))
            self._held = {message.id: message for message in held}
        return self._held

    def _place(self, one: _Named) -> str:
        """JSON Pointer to what names the file, in the body as it was posted."""
        (number, place), text = one.at, one.part.source.value
        within = next(_paths(self._posted.body, lambda node: _is_message(node, one.message.id)), "")
        found = (path for path in _paths(self._posted.body, lambda node: node == text) if path.startswith(within))
        return next(found, f"/messages/{number}/content/{place}")


def _named(messages: Sequence[Message]) -> Iterator[_Named]:
    for number, message in enumerate(messages):
        own = message.role in ("user", "tool") and message.subagent_run_id is None  # no agent is given the others
        parts = message.content if own else None
        for place, part in enumerate(parts if isinstance(parts, list) else ()):
            if part.type != "text":
                yield _Named(message, (number, place), part)


def _unmarked(message: Message) -> Message:
    """A message without marks of fetched files: a client could give out its data as that of any URL."""
    content: Any = message.content if message.role in ("user", "tool") else None
    return message.model_copy(update={"content": list(map(unmarked, content))}) if has_fetched(content) else message


def _said(message: Message) -> Any:
    """The content, as far as it counts: texts, and what files are named by."""
    content: Any = message.content
    if not isinstance(content, list):
        return content
    return [part.text if part.type == "text" else _file(part) for part in content]


def _file(part: Any) -> tuple[str, str] | None:
    return None if part.type == "text" else (part.type, part.source.value)


def _is_message(node: Any, own_id: str) -> bool:
    return isinstance(node, Mapping) and node.get("id") == own_id


def _paths(data: Any, wanted: Callable[[Any], bool], path: str = "") -> Iterator[str]:
    """JSON Pointers to all places of JSON data that are wanted."""
    if wanted(data):
        yield path
    items: Any = data.items() if isinstance(data, Mapping) else enumerate(data) if isinstance(data, list) else ()
    for key, inner in items:
        if isinstance(inner, str | Mapping | list):
            yield from _paths(inner, wanted, f"{path}/{str(key).replace('~', '~0').replace('/', '~1')}")
