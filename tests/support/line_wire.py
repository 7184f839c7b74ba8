"""A small wire that is not AG-UI: one JSON object per line, other bodies, other errors. And applications that speak it.

A request is ``{"thread", "say"}``. With ``"again": true`` instead of a text the last question of the thread is asked
again; with ``"whole": true`` the answer is one JSON document whose status says how the run ended.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

from ag_ui.core import BaseEvent, EventType, Message
from langgraph.graph import START, MessagesState, StateGraph

from tests.support.serving import last_text, talker
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.errors import EncodingError, RunInputError
from yai_nexus_agentkit.protocol.request import RequestLimits, parse_request
from yai_nexus_agentkit.server import ServerSettings, create_app
from yai_nexus_agentkit.transport.wire import Answer, Posted, Refusal

__all__ = ["LineWire", "application"]


class Lines:
    """A line for the beginning, each piece of text, and the end."""

    status = 200
    headers: Mapping[str, str] = {"content-type": "application/jsonl", "x-lines": "1"}
    keep_alive = b"\n"

    def __init__(self) -> None:
        self._end = "cut off"

    def encode(self, event: BaseEvent) -> bytes:
        line = self._line(event)
        return b"" if line is None else json.dumps(line).encode() + b"\n"

    def finish(self) -> bytes:
        return json.dumps({"bye": self._end}).encode() + b"\n"

    def _line(self, event: Any) -> dict[str, Any] | None:
        match event.type:
            case EventType.RUN_STARTED:
                return {"begin": event.thread_id}
            case EventType.TEXT_MESSAGE_CONTENT:
                if "unspeakable" in event.delta:
                    raise EncodingError("this cannot be said in lines")
                return {"text": event.delta}
            case EventType.RUN_ERROR:
                self._end = event.code
            case EventType.RUN_FINISHED:
                self._end = getattr(event.outcome, "type", "success")
        return None


class Whole(Lines):
    """The same as one document, with the status of its end."""

    keep_alive = b""

    def __init__(self) -> None:
        super().__init__()
        self._text = ""

    @property
    def status(self) -> int:  # type: ignore[override]
        return 200 if self._end == "success" else 502

    headers: Mapping[str, str] = {"content-type": "application/json"}

    def encode(self, event: BaseEvent) -> bytes:
        self._text += (self._line(event) or {}).get("text", "")
        return b""

    def finish(self) -> bytes:
        return json.dumps({"text": self._text, "bye": self._end}).encode()


@dataclass(frozen=True)
class LineWire:
    """The wire."""

    def needs_history(self, data: Any) -> str | None:
        return data["thread"] if isinstance(data, dict) and data.get("again") else None

    def parse(self, data: Any, history: Sequence[Message], limits: RequestLimits) -> Posted:
        if not isinstance(data, dict) or "thread" not in data:
            raise RunInputError("no thread", path="/thread")
        if data.get("say") == "teapot":
            raise Refusal(418, "TEAPOT", "short and stout")
        messages = [message.model_dump(by_alias=True, mode="json") for message in history]
        if data.get("again"):
            while messages and messages[-1]["role"] != "user":
                messages.pop()
        else:
            messages = [{"id": uuid4().hex, "role": "user", "content": data.get("say")}]
        asked = {"threadId": data["thread"], "runId": uuid4().hex, "messages": messages}
        run_input = parse_request(asked, limits=limits)
        return Posted(run_input, Whole if data.get("whole") else Lines)

    def refuse(self, refusal: Refusal, *, trace_id: str, now: datetime) -> Answer:
        body = {"no": refusal.code, "why": refusal.description, "at": refusal.path}
        return Answer(refusal.status, {"content-type": "application/jsonl"}, json.dumps(body).encode() + b"\n")


def _echo() -> Any:
    async def echo(state: MessagesState) -> dict[str, Any]:
        said = last_text(state["messages"]) if state["messages"] else "nothing"
        if said == "fail":
            raise ValueError("swordfish")
        return {"messages": [("ai", f"{len(state['messages'])} {said}")]}

    return StateGraph(MessagesState).add_node("echo", echo).add_edge(START, "echo")


def application() -> Any:
    """For a server process: ``tests.support.line_wire:application``. The errors that its agent raises are meant."""
    logging.getLogger("yai_nexus_agentkit").setLevel(logging.CRITICAL + 1)
    from langgraph.checkpoint.memory import InMemorySaver

    agents = {
        "echo": AGUIAdapter(_echo().compile(checkpointer=InMemorySaver())),
        "slow": AGUIAdapter(talker(400, 0.02)),
        "silent": AGUIAdapter(talker(2, 0.7)),
    }
    return create_app(agents, settings=ServerSettings(keep_alive=0.2, max_body=10_000), wire=LineWire())
