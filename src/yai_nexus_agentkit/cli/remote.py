"""Edge. An agent of a running server, by its URL: its runs over HTTP (AG-UI 1.0 §19), its threads if the server keeps
them.

Any AG-UI server can run. One of this package also shows a stored thread (``POST {url}/connect``), stops a run
(``POST {url}/threads/{id}/cancel``), and shows a run again whose connection was lost, if its capabilities say so.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any
from urllib.parse import quote

import httpx
from ag_ui.core import Event
from pydantic import TypeAdapter, ValidationError

from yai_nexus_agentkit.adapter.control import RunControl, Stopped
from yai_nexus_agentkit.cli.failures import CommandError
from yai_nexus_agentkit.errors import own_text
from yai_nexus_agentkit.protocol.json.reader import read_json
from yai_nexus_agentkit.protocol.sse_reader import SSEReader

__all__ = ["RemoteAgent", "remote_opened"]

_DEPTH = 200
_ANSWERS_WITHIN = 30.0
"""Seconds that a server may take to answer. A stream may be silent for as long as it wants."""
_STOPS_WITHIN = 5.0
_AGAIN_AFTER = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each attempt to join a run whose connection was lost."""
_NO_SUCH_ROUTE = (404, 405, 501)
_EXPECTED = "text/event-stream"
_EVENT: TypeAdapter[Any] = TypeAdapter(Event)


class _Refused(Exception):
    """The server does not stream. `code`: its error code, or its HTTP status."""

    def __init__(self, status: int, code: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.code = status, code


@asynccontextmanager
async def remote_opened(url: str, headers: Sequence[str]) -> AsyncIterator[RemoteAgent]:
    """The agent at `url`, for as long as the block lasts. `headers`: ``NAME: VALUE`` for every request.

    Raises `CommandError`: the URL or a header is not valid, nobody answers, or the server turns the caller away.
    """
    try:
        timeout = httpx.Timeout(_ANSWERS_WITHIN, read=None)
        client = httpx.AsyncClient(headers=dict(map(_header, headers)), timeout=timeout, follow_redirects=True)
    except (UnicodeError, ValueError) as error:
        raise CommandError(f"--header: {error}") from error
    async with client:
        agent = RemoteAgent(url.rstrip("/"), client)
        await agent.check()
        yield agent


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip() or not text.isprintable():
        raise CommandError(f"--header takes NAME: VALUE, not {text!r}")
    if not text.isascii():
        raise CommandError(f"--header: {text!r} is not ASCII")
    return name.strip(), value.strip()


class RemoteAgent:
    """The agent at one URL. Cookies of the server are kept, so that it can know its visitor again."""

    def __init__(self, url: str, client: httpx.AsyncClient) -> None:
        self._url, self._client = url, client
        self._resumable = False
        """Runs survive their connection. Set by `check`."""

    async def check(self) -> None:
        """Ask for the agent's capabilities. Raises `CommandError`."""
        try:
            async with asyncio.timeout(_ANSWERS_WITHIN):
                answer = await self._client.get(f"{self._url}/capabilities")
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            raise CommandError(f"--url: nobody answers at {self._url or '/'}: {own_text(error)}") from error
        if answer.status_code in (401, 403):
            refusal = _refusal(answer)
            raise CommandError(
                f"--url: {self._url} answers {refusal.status}: {refusal}; --header 'NAME: VALUE' signs in"
            )
        with suppress(ValueError, AttributeError):
            self._resumable = answer.is_success and answer.json().get("transport", {}).get("resumable") is True

    def run(self, asked: Mapping[str, Any], control: RunControl) -> AsyncGenerator[str, None]:
        """The events of a run, each as JSON. Where the connection is lost and the run survived, it begins again with
        what happened so far. A refusal is a ``RUN_ERROR``."""
        return self._stoppable(self._run(asked), asked, control)

    def look(self, asked: Mapping[str, Any], control: RunControl) -> AsyncGenerator[str, None]:
        """The thread as it is now, or its active run. Nothing where the server does not keep it."""
        return self._stoppable(self._look(asked), asked, control)

    async def _stoppable(
        self, events: AsyncGenerator[str, None], asked: Mapping[str, Any], control: RunControl
    ) -> AsyncGenerator[str, None]:
        """The events until they end, or until `control` stops them: the run on the server then, too."""
        try:
            async with aclosing(events):
                while True:
                    yield await control.wait(events.__anext__)
        except StopAsyncIteration:
            return
        except Stopped:
            await self._cancel(asked)

    async def _run(self, asked: Mapping[str, Any]) -> AsyncGenerator[str, None]:
        attempts = iter(_AGAIN_AFTER if self._resumable else ())
        path = ""
        while True:
            try:
                async with aclosing(self._streamed(path, asked)) as events:
                    async for event in events:
                        path = "/connect"
                        yield event
                return
            except _Refused as refusal:
                yield _failure(refusal.code, str(refusal))
                return
            except httpx.HTTPError as error:
                pause = next(attempts, None) if path else None
                if pause is None:
                    yield _failure("DISCONNECTED", f"{self._url}: {own_text(error)}")
                    return
                await asyncio.sleep(pause)

    async def _look(self, asked: Mapping[str, Any]) -> AsyncGenerator[str, None]:
        try:
            async with aclosing(self._streamed("/connect", asked)) as events:
                async for event in events:
                    yield event
        except _Refused as refusal:
            if refusal.status not in _NO_SUCH_ROUTE:
                yield _failure(refusal.code, str(refusal))
        except httpx.HTTPError as error:
            yield _failure("DISCONNECTED", f"{self._url}: {own_text(error)}")

    async def _streamed(self, path: str, asked: Mapping[str, Any]) -> AsyncGenerator[str, None]:
        """The events of one response. One that ends too early is an error of the connection."""
        last, headers = "", {"accept": _EXPECTED}
        async with self._client.stream("POST", f"{self._url}{path}", json=asked, headers=headers) as answer:
            if answer.is_error:
                await answer.aread()
                raise _refusal(answer)
            kind = answer.headers.get("content-type", "nothing").partition(";")[0]
            if kind != _EXPECTED:
                raise _Refused(200, "NO_AGENT", f"{self._url}{path} answers with {kind}, not with events")
            reader = SSEReader()
            async for piece in answer.aiter_bytes():
                for frame in reader.feed(piece):
                    last = _type_of(frame)
                    yield frame
        if not last:
            raise _Refused(404, "THREAD_NOT_FOUND", "the server sent no events")
        if last not in ("RUN_FINISHED", "RUN_ERROR"):
            raise httpx.RemoteProtocolError("the stream ended in the middle of the run")

    async def _cancel(self, asked: Mapping[str, Any]) -> None:
        """Stop the thread's run. A server without this route notices that the connection is closed."""
        with suppress(httpx.HTTPError, TimeoutError):
            async with asyncio.timeout(_STOPS_WITHIN):
                await self._client.post(f"{self._url}/threads/{quote(asked['threadId'], safe='')}/cancel")


def _type_of(frame: str) -> str:
    """The type of an event, which may be one that AG-UI does not have. Raises `_Refused` for anything else."""
    try:
        event = read_json(frame, max_depth=_DEPTH)
        kind = event["type"] + ""
        _EVENT.validate_python(event)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if first["type"] != "union_tag_invalid":
            why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            raise _Refused(200, "NO_AGUI", f"the server sends an event that is not AG-UI's: {why}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise _Refused(200, "NO_AGUI", f"the server sends something that is not an event: {frame[:80]}") from error
    return str(kind)


def _refusal(answer: httpx.Response) -> _Refused:
    """The error of a response whose body is there; this package's servers name it."""
    code, reason = f"HTTP_{answer.status_code}", answer.reason_phrase or "refused"
    with suppress(ValueError, KeyError, TypeError):
        detail = answer.json()["detail"]
        code, reason = (detail["error"], detail["error_description"]) if isinstance(detail, dict) else (code, detail)
    return _Refused(answer.status_code, str(code), str(reason))


def _failure(code: str, message: str) -> str:
    return json.dumps({"type": "RUN_ERROR", "code": code, "message": message})
