"""A mock in place of LangChain's callbacks: how authors unit-test a node that emits."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any
from unittest.mock import AsyncMock, MagicMock, Mock

import pytest
from langchain_core.callbacks import BaseCallbackHandler

from yai_nexus_agentkit import EventEmitter
from yai_nexus_agentkit.orchestration.events import _INTERNAL_EVENT_MARKER, is_envelope


def charting_node(state: dict[str, Any], config: Any) -> dict[str, Any]:
    EventEmitter(config).emit("display_chart", {"type": "line", "data": [1, 5, 3]})
    return {"status": "done"}


@pytest.mark.parametrize("inside", [lambda mock: mock, lambda mock: [mock]], ids=["alone", "in a list"])
@pytest.mark.parametrize("make", [Mock, MagicMock, AsyncMock])
def test_a_mock_sees_what_a_node_emits(make: Callable[[], Any], inside: Callable[[Any], Any]) -> None:
    mock = make()
    assert charting_node({}, {"callbacks": inside(mock)}) == {"status": "done"}

    mock.on_custom_event.assert_called_once()
    given = mock.on_custom_event.call_args.kwargs
    assert given["name"] == _INTERNAL_EVENT_MARKER == "agent_custom_event"
    assert given["data"]["name"] == "display_chart"
    assert given["data"]["payload"] == {"type": "line", "data": [1, 5, 3]}
    assert isinstance(given["data"]["event_id"], str)
    assert is_envelope(given["data"])


def test_every_kind_of_event_reaches_it() -> None:
    mock = Mock()
    emitter = EventEmitter({"callbacks": mock})
    emitter.progress("load", 0.5)
    emitter.activity("a", "plan", {"steps": []})
    emitter.activity_patch("a", [{"op": "add", "path": "/steps/-", "value": 1}])
    emitter.state({"title": "x"})
    emitter.state_patch([{"op": "add", "path": "/title", "value": "y"}])
    emitter.tool_output("line 1")
    kinds = [call.kwargs["data"]["kind"] for call in mock.on_custom_event.call_args_list]
    assert kinds == ["activity", "activity", "activity_patch", "state", "state_patch", "tool_output"]


async def test_aemit_reaches_it_too() -> None:
    mock = Mock()
    await EventEmitter({"callbacks": mock}).aemit("saved", 1)
    assert mock.on_custom_event.call_args.kwargs["data"]["payload"] == 1


def test_a_mock_that_raises_does_not_reach_the_node(caplog: pytest.LogCaptureFixture) -> None:
    mock = Mock()
    mock.on_custom_event.side_effect = RuntimeError("no")
    with caplog.at_level(logging.WARNING):
        assert charting_node({}, {"callbacks": mock}) == {"status": "done"}
    assert "Mock.on_custom_event failed" in caplog.text


def test_a_mock_with_the_handlers_spec_counts_as_a_mock() -> None:
    mock = Mock(spec=BaseCallbackHandler)
    charting_node({}, {"callbacks": mock})
    mock.on_custom_event.assert_called_once()


def test_an_object_without_the_method_is_left_alone() -> None:
    assert charting_node({}, {"callbacks": object()}) == {"status": "done"}
