"""The frames of AG-UI's web socket: whatever comes is a frame or a refusal, and no event is lost in the framing."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from ag_ui.core import CustomEvent, TextMessageContentEvent
from hypothesis import given
from hypothesis import strategies as st

from yai_nexus_agentkit.protocol.request import RequestLimits
from yai_nexus_agentkit.transport.agui_socket import AGUISocketWire, Asked, Beat, FrameError, Hello, Leave, Stop
from yai_nexus_agentkit.transport.ai_sdk.socket import OfficialFrames, older_frames

WIRE = AGUISocketWire()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["type", "requestId", "threadId", "input", "device", "abilities", "token", "previous"])
KINDS = st.sampled_from(["run", "connect", "cancel", "leave", "hello", "ping", "pong"])
FRAMES = st.dictionaries(NAMES, JSON | KINDS, max_size=6)

READ = [
    ({"type": "run", "requestId": "q", "input": {"a": 1}}, Asked("run", "q", {"a": 1})),
    ({"type": "connect", "requestId": "q"}, Asked("connect", "q", None)),
    ({"type": "cancel", "requestId": "q"}, Stop("q")),
    ({"type": "cancel", "requestId": "q", "threadId": "t"}, Stop("q", "t")),
    ({"type": "leave", "requestId": "q"}, Leave("q")),
    ({"type": "ping"}, Beat(True)),
    ({"type": "pong", "more": 1}, Beat(False)),
    ({"type": "hello"}, Hello()),
    ({"type": "hello", "abilities": ["a", "b", "a"]}, Hello(abilities=("a", "b"))),
    ({"type": "hello", "abilities": ["a"], "device": "d"}, Hello(device="d", abilities=("a",))),
]


@pytest.mark.parametrize(("data", "frame"), READ)
def test_frames(data: Any, frame: Any) -> None:
    assert WIRE.read(data) == frame


@given(JSON | FRAMES)
def test_anything_else_is_refused(data: Any) -> None:
    with suppress(FrameError):
        frame = WIRE.read(data)
        assert isinstance(data, dict)
        assert isinstance(frame, Asked | Stop | Leave | Hello | Beat)


@given(st.text(), st.lists(st.text(min_size=1), max_size=4), st.booleans())
def test_no_event_is_lost_between_two_frames(request_id: str, deltas: list[str], last: bool) -> None:
    data = {"threadId": "t", "runId": "r", "messages": []}
    encoder = WIRE.parse(data, (), RequestLimits()).encoder()
    events = [TextMessageContentEvent(message_id="m", delta=delta) for delta in deltas]
    more = CustomEvent(name="n", value={"text": "\n\ndata: "})
    body = b"".join(encoder.encode(event) for event in [*events, more])
    frame = json.loads(WIRE.events(WIRE.head(request_id), body, last=last))
    assert [event.get("delta") for event in frame["events"]] == [*(event.delta for event in events), None]
    assert frame["events"][-1]["value"] == {"text": "\n\ndata: "}
    assert frame.get("done", False) is last
    assert json.loads(WIRE.events(WIRE.head("q"), b"", last=True)) == {
        "type": "events",
        "requestId": "q",
        "events": [],
        "done": True,
    }


def test_the_ai_sdks_frames_have_no_gaps() -> None:
    frames = OfficialFrames("q")
    first = [json.loads(text) for text in frames(b'data: {"type":"start"}\n\n: keep-alive\n\n', False)]
    last = [json.loads(text) for text in frames(b'data: {"type":"finish"}\n\ndata: [DONE]\n\n', True)]
    assert first == [
        {"type": "start", "requestId": "q"},
        {"type": "chunk", "requestId": "q", "sequence": 0, "chunk": {"type": "start"}},
    ]
    assert last == [
        {"type": "chunk", "requestId": "q", "sequence": 1, "chunk": {"type": "finish"}},
        {"type": "end", "requestId": "q"},
    ]
    assert list(older_frames(b'data: {"type":"finish"}\n\ndata: [DONE]\n\n', True)) == ['{"type":"finish"}', "[DONE]"]
