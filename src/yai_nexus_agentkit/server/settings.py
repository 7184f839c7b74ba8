"""How a server behaves. Frozen, shared by all agents of an application."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Literal

from ag_ui.core import RunAgentInput
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt
from starlette.requests import Request

from yai_nexus_agentkit.checks import check_options
from yai_nexus_agentkit.protocol.request import RequestLimits
from yai_nexus_agentkit.runs.identity import ANONYMOUS, Identity, thread_key
from yai_nexus_agentkit.runs.index import ThreadEntry, ThreadIndex
from yai_nexus_agentkit.runs.live_run import Disconnect
from yai_nexus_agentkit.runs.locks import ThreadLocks
from yai_nexus_agentkit.runs.stores.opening import kind_of
from yai_nexus_agentkit.runs.stores.store import Store
from yai_nexus_agentkit.runs.telemetry import Meter
from yai_nexus_agentkit.runs.titles import first_words
from yai_nexus_agentkit.server.fetching.fetcher import Fetcher, needs_httpx
from yai_nexus_agentkit.server.socket_settings import SocketSettings

__all__ = ["LEAST_BODY", "Resolver", "ServerSettings", "ThreadKey"]

LEAST_BODY = 64 * 1024
"""Bytes that a body counts as, however short it is."""

Resolver = Callable[[Request], Identity | Awaitable[Identity]]
Restore = Callable[[str, str, Mapping[str, Any]], Identity | Awaitable[Identity]]
ThreadKey = Callable[[str, str, str], str]
_ORIGIN = re.compile(r"\*|null|[a-zA-Z][a-zA-Z0-9+.-]*://[^/\s]+")
"""Values of a browser's ``Origin`` header; anything else never matches one."""
_HOST = re.compile(r"[a-zA-Z0-9._-]+")
"""Names in a ``Host`` header, before the port. IPv6 addresses are allowed, too."""


def anonymous(request: Request) -> Identity:
    return ANONYMOUS


OLDER_PATHS: Mapping[str, str] = {
    "list": "/thread/list",
    "messages": "/message_snapshot/{}",
    "state": "/state_snapshot/{}",
    "patch": "/state/{}",
    "delete": "/thread/{}",
}
"""The older paths of threads, in the order of their routes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Settings of a server, each with its default. Times are in seconds, sizes in bytes."""

    identity: Resolver = anonymous
    """Returns who sends a request; may be a coroutine function. Raise Starlette's ``HTTPException`` (401, 403) or
    `PermissionError` (403) to refuse somebody. The default knows nobody, so all clients share one user's threads. A web
    socket's handshake is an ``HTTPConnection``: a request without method and body."""

    thread_key: ThreadKey = thread_key
    """(agent's name, user, thread id) → the thread's id on the server: in the checkpointer, the locks and the index.
    The default hashes all three. A function that returns the client's id unchanged makes every thread reachable for
    everybody."""

    cors: Collection[str] = ()
    """Origins whose pages may call the server (``https://app.example.com``, without a path), ``*`` for all.
    `create_app` only; your own application has its own middleware."""

    hosts: Collection[str] = ()
    """Names by which clients may address the server (the ``Host`` header, without the port; ``::1`` without brackets),
    in upper or lower case. Empty: any name. A server on a developer's machine should list its own names; then pages of
    other sites cannot reach it. `create_app` only."""

    disconnect: Disconnect = "cancel"
    """What happens to a run whose last viewer has left. ``cancel``: it is cancelled, because plain AG-UI clients have
    no other way to stop one. ``continue``: it goes on, and a page that comes back joins it (``POST
    {path}/connect``)."""

    disconnect_by_request: bool = False
    """Let a request choose with ``?disconnect=cancel`` or ``?disconnect=continue``."""

    orphaned: PositiveFloat | None = None
    """How long a run may go on without viewers before it is cancelled. None: without limit."""

    run_memory: PositiveInt = 16 * 1024 * 1024
    """Bytes of a run's events that are kept, merged, for viewers who come while it goes on. Beyond it nobody can join
    the run; such viewers wait for its end and see the thread then."""

    busy: Literal["reject", "wait", "interrupt", "stream"] = "reject"
    """A run for a thread that has one: refuse it (409, ``THREAD_BUSY``), let it ``wait`` for up to `busy_wait`, or stop
    the active one (``interrupt``) and keep what that one has written. ``stream`` waits, too, but answers then with a
    stream whose only event is ``RUN_ERROR`` with ``THREAD_IS_LOCKED``."""

    busy_wait: NonNegativeFloat = 30.0
    """How long ``busy="wait"`` waits for the run that is there, and ``busy="interrupt"`` for its end, before it
    refuses."""

    ending_wait: NonNegativeFloat = 2.0
    """How long a request waits, in any case, for a run that is just ending: stop and resend is normal."""

    lease: PositiveFloat = 15.0
    """A thread's lock is renewed three times in this time; one whose holder crashed is free after it."""

    max_runs: NonNegativeInt | None = 1000
    """Runs at once in this process; more are refused with 429."""

    max_runs_per_user: NonNegativeInt | None = None
    """Runs at once of one user in this process. The empty user counts as one."""

    retry_after: NonNegativeInt = 1
    """Seconds in the ``Retry-After`` header of a 429."""

    run_timeout: PositiveFloat | None = None
    """Longest time of a run. Each of the three time limits, if it is set, replaces the adapter's own option."""

    idle_timeout: PositiveFloat | None = 600.0
    """Longest time without a sign of life from the agent. A tool that is silent for longer needs more."""

    tool_timeout: PositiveFloat | None = None
    """Longest time of one call of a server tool."""

    keep_alive: PositiveFloat = 15.0
    """Silence after which a comment is sent, so that proxies do not cut the stream."""

    max_body: PositiveInt = 16 * 1024 * 1024
    """Larger requests are refused with 413. A client sends the whole history each time, with images as base64."""

    max_values: PositiveInt = 200_000
    """Members and items in the JSON of a request; more are refused with 413. They need more time and memory than their
    bytes: a body of empty lists would need fifty times its size."""

    max_messages: PositiveInt = 10_000
    """Messages of a request; more are refused with 422."""

    max_entries: PositiveInt = 1_000
    """Entries of each other list of a request: tools, context, answers, content parts and tool calls of one message,
    operations of a patch; more are refused with 422."""

    max_id: PositiveInt = 256
    """Characters of the ids of thread, run and parent run; longer ones are refused with 422, in a path with 404."""

    max_depth: NonNegativeInt = 100
    """Nesting of the request's JSON; deeper is refused with 400. At most 200."""

    max_bodies: PositiveInt = 256 * 1024 * 1024
    """Bytes of all bodies that are being received and parsed in this process, each counted as 64 KiB at least; beyond
    it requests are refused with 429. At least 64 KiB and `max_body`."""

    body_timeout: PositiveFloat = 60.0
    """Time for a request's body to arrive; after it the request is refused with 408."""

    store_timeout: PositiveFloat = 30.0
    """Time for the storage of threads to answer a request that is not a run (messages, state, patch, deletion). After
    it the request is refused with 504, and the thread is free."""

    max_buffer: NonNegativeInt = 4 * 1024 * 1024
    """Bytes that may wait for a client that reads slowly, after merging. Above it the run ends with ``OVERLOADED``. One
    frame, however large, is always accepted."""

    stalled: PositiveFloat = 60.0
    """A client that takes no byte for this long, although some wait, counts as gone."""

    sockets: SocketSettings | None = SocketSettings()  # noqa: RUF009 (it is frozen)
    """Limits of the web sockets under ``{path}/ws``. None: no sockets."""

    media: Literal["pass", "fetch", "refuse"] = "pass"
    """Files that a request names by URL. ``pass``: the URL goes to the model, if by its form it leads to a public host
    by https. ``fetch``: the server downloads the file, and the model gets the data (extra ``media``). ``refuse``: the
    request is refused. A URL that is not accepted is refused with 422. Data in the request itself is not concerned."""

    fetcher: Fetcher = field(default_factory=Fetcher)
    """Downloads these files, with its own limits. One object may serve several settings. Its ``hosts`` count for
    ``media="pass"`` too."""

    client_system: Literal["allow", "drop", "refuse"] | None = None
    """What happens to messages of the roles system and developer in a request, which are instructions of the client.
    ``allow``: they are stored and go to the model. ``drop``: they are ignored, with a warning in the log. ``refuse``:
    the request is refused with 422. None: they are ignored if the agent shows instructions of its own, otherwise
    allowed. Messages that the thread already has stay."""

    event_lines: bool = False
    """Send ``id:`` and ``event:`` lines before each ``data:`` line, for standard EventSource consumers."""

    expose_errors: bool = False
    """Send clients the text of unexpected exceptions. Otherwise they get an id, and the log has the text."""

    patch_as_node: bool = False
    """Accept ``?as_node=`` with a patch of a thread's state. A user who may patch then decides which node runs next,
    past breakpoints and checks of the graph."""

    ai_sdk_version: Literal[5, 6, 7] = 6
    """The major version of the npm package ``ai`` that pages of the AI SDK use. Their requests do not contain it, and a
    client fails at chunks that its version does not know."""

    seed_paths: bool | Mapping[str, str] = False
    """Also serve threads under the older paths ``/thread/list``, ``/message_snapshot/{id}``, ... A mapping of ``list``,
    ``messages``, ``state``, ``patch`` and ``delete`` to other paths, with ``{}`` for the id, replaces those."""

    thread_title: Callable[[RunAgentInput], str] = first_words
    """Returns the title of a thread that has none yet, from the request of its run. Default: the first words of the
    user's first message. Return ``""`` for no title: ``PATCH {path}/threads/{id}`` can set one later."""

    thread_list: Callable[[Sequence[ThreadEntry]], Any] | None = None
    """Another shape for the list of threads. Gets the entries, returns JSON data."""

    thread_limit: NonNegativeInt | None = None
    """Threads per user that the janitor keeps. The least recently used go first, but never paused or running ones."""

    thread_idle: NonNegativeFloat | None = None
    """Idle time after which the janitor deletes a thread, but never a paused or running one."""

    janitor_every: PositiveFloat = 300.0
    """Time between two rounds of the janitor, which works only if one of the two limits is set."""

    store: str | Store = "memory:"
    """The store of locks, the list of threads, and the runs: ``memory:`` (one process), ``sqlite:PATH`` (the workers of
    one machine), ``redis://...`` or ``postgresql://...``. It is opened with the application. With a store other than
    memory, workers share threads and runs: a run is watched and cancelled from any of them."""

    flush: PositiveFloat = 0.02
    """Time between two writes of a worker to the log of runs."""

    run_kept: NonNegativeFloat = 600.0
    """How long the log of a run is kept after its end."""

    on_crash: Literal["continue", "fail"] = "continue"
    """What happens to a run whose worker is gone: another worker continues from the last finished step, or the run ends
    with ``WORKER_LOST``."""

    restore_identity: Restore | None = None
    """(agent's name, user, the JSON part of ``Identity.facts``) → the identity of a run that another worker began; may
    be a coroutine function. You need it if identities have a ``config`` or ``context``, which cannot be stored: without
    it such a run ends with ``WORKER_LOST``."""

    locks: ThreadLocks | None = None
    """Locks to use instead of the store's."""

    index: ThreadIndex | None = None
    """An index of threads to use instead of the store's."""

    metrics: Meter | None = None
    """Called with (name, value, labels) when a run ended or was refused."""

    @property
    def older_paths(self) -> Mapping[str, str] | None:
        """The paths of `seed_paths`, by name; None if there are none."""
        given = self.seed_paths
        return None if given is False else {**OLDER_PATHS, **({} if given is True else given)}

    def older_path(self, name: str, thread_id: str) -> str:
        """One of them, for a thread."""
        return (self.older_paths or OLDER_PATHS)[name].replace("{}", thread_id)

    @property
    def request_limits(self) -> RequestLimits:
        """The limits that a wire checks."""
        return RequestLimits(messages=self.max_messages, entries=self.max_entries, id=self.max_id)

    def __post_init__(self) -> None:
        check_options(self)
        for name, path in (self.older_paths or {}).items():
            if name not in OLDER_PATHS or not path.startswith("/") or path.count("{}") != (name != "list"):
                names = ", ".join(OLDER_PATHS)
                raise ValueError(f"ServerSettings.seed_paths: {name!r} is one of {names}, and its path has one {{}}")
        if not 1 <= self.max_depth <= 200:
            raise ValueError(f"ServerSettings.max_depth must be between 1 and 200, not {self.max_depth}")
        if self.max_bodies < (least := max(self.max_body, LEAST_BODY)):
            raise ValueError(f"ServerSettings.max_bodies must have room for one body, {least}, not {self.max_bodies}")
        if self.media == "fetch":
            needs_httpx()
        if isinstance(self.store, str):
            kind_of(self.store)
        for origin in self.cors:
            if not _ORIGIN.fullmatch(origin):
                raise ValueError(
                    f"ServerSettings.cors must hold origins such as 'https://app.example.com', without a path, or '*', "
                    f"not {origin!r}"
                )
        for name in self.hosts:
            if not _HOST.fullmatch(name) and not _is_ipv6(name):
                raise ValueError(
                    f"ServerSettings.hosts must hold names such as 'app.example.com' or '::1', without port and "
                    f"brackets, not {name!r}"
                )


def _is_ipv6(name: str) -> bool:
    try:
        return ip_address(name).version == 6
    except ValueError:
        return False
