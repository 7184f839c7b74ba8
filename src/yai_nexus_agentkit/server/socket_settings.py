"""How web sockets behave. Frozen, part of `ServerSettings`."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from yai_nexus_agentkit.checks import check_options
from yai_nexus_agentkit.runs.routing import Policy

__all__ = ["SocketSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketSettings:
    """Settings of web sockets, each with its default. Times are in seconds, sizes in bytes.

    The rest is the same as for HTTP: ``ServerSettings.identity``, ``cors`` (the origins whose pages may open a socket),
    ``disconnect``, ``max_buffer``, ``stalled`` and the limits of requests.
    """

    max_frame: PositiveInt = 16 * 1024 * 1024
    """A larger frame closes the socket (1009). A client sends the whole history with each run. uvicorn has a limit of
    its own, ``ws_max_size``, of the same size."""

    frames_per_second: PositiveFloat = 50.0
    """Frames that a client may send per second, on average and in one burst. Beyond it the socket is closed (4429)."""

    runs_per_second: PositiveFloat = 5.0
    """The same for ``run`` and ``connect``. Beyond it such a request is refused with 429."""

    max_requests: PositiveInt = 32
    """Requests that may be active on one socket; more are refused with 429."""

    max_sockets: NonNegativeInt | None = 10_000
    """Sockets of this process; more are closed (4429)."""

    max_sockets_per_user: NonNegativeInt | None = 50
    """The same for each user. The empty user counts as one."""

    hello_within: PositiveFloat = 10.0
    """Time for the first frame of a socket whose handshake names no user. After it the socket is closed (4401)."""

    ping: PositiveFloat = 25.0
    """Silence of the client after which the server sends a ``ping``. After three times this silence the socket is
    closed (4408)."""

    approvals: Policy = "source"
    """Which connections are asked what a run ends with: questions, approvals, calls of the client's tools. ``source``:
    the one whose message caused the turn; ``all`` of the user's; ``ability``: one that declares ``approve``. A question
    that ``needs`` an ability goes to a device that has it. A function (question, open connections) → their ids decides
    itself. Plain HTTP clients are always asked, and may always answer."""

    grace: PositiveFloat = 10.0
    """How long a question waits for its source when that is gone. After it the user's other connections are asked."""

    show_elsewhere: bool = True
    """Show connections that are not asked what is asked. Otherwise they see only that something waits elsewhere."""

    isolated: bool = False
    """Give each connection a thread of its own, ``session_{user}_{connection}``, whatever ``threadId`` it sends. A
    client that connects again begins a new one. A run ends with its connection. Answers to something that the
    connection was not asked are refused (409, ``NOT_ASKED``)."""

    max_age: PositiveFloat | None = None
    """A socket is closed (4401) when it is this old, so that the client signs in again. None: never."""

    def __post_init__(self) -> None:
        check_options(self)
