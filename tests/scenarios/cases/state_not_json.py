"""State full of Python values: pydantic, datetime, set, UUID, Decimal, NaN, enum, dataclass, non-string keys."""

from __future__ import annotations

import dataclasses
import enum
import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel

from tests.scenarios.checks import streamed_ids, strict_json, success
from tests.scenarios.kit import hello, streaming
from tests.scenarios.reading import state

TITLE = "state with Python values becomes strict, readable JSON"
SOURCE = "https://github.com/CopilotKit/CopilotKit/pull/3851"


class Item(BaseModel):
    name: str
    when: datetime
    price: Decimal


@dataclasses.dataclass
class Point:
    x: int
    tag: Any


class Colour(enum.Enum):
    RED = "red"


class S(MessagesState):
    v: dict


U = uuid.UUID("12345678-1234-5678-1234-567812345678")
V = {
    "item": Item(name="tea", when=datetime(2026, 3, 4, 5, 6, tzinfo=UTC), price=Decimal("9.90")),
    "day": date(2026, 1, 2),
    "tags": {"one"},
    "id": U,
    "money": Decimal("1.25"),
    "nan": float("nan"),
    "inf": float("inf"),
    "colour": Colour.RED,
    "point": Point(3, U),
    "pair": (1, 2),
    "keys": {1: "one", 2: "two"},
    "span": timedelta(seconds=90),
    "nothing": None,
    "deep": [{"at": datetime(2026, 3, 4)}],
}


def build():
    model = streaming(ids="all", script=[["ok"]])

    async def chat(state, config):
        return {"messages": [await model.ainvoke(state["messages"], config)], "v": V}

    g = StateGraph(S)
    g.add_node("chat", chat)
    g.add_node("after", lambda s: {})
    g.add_edge(START, "chat")
    g.add_edge("chat", "after")
    return g.compile(checkpointer=InMemorySaver())


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = success(ev) + streamed_ids(ev, "ok") + [x for e in ev for x in strict_json(e)]
    v = (state(ev) or {}).get("v")
    if not isinstance(v, dict):
        return [*p, f"state.v is {v!r}"]
    if (
        not isinstance(v.get("item"), dict)
        or v["item"].get("name") != "tea"
        or not str(v["item"].get("when")).startswith("2026-03-04T05:06")
    ):
        p.append(f"item is {v.get('item')}")
    if not str(v.get("item", {}).get("price") if isinstance(v.get("item"), dict) else "").startswith("9.9"):
        p.append(f"item.price is {v.get('item')}")
    if v.get("day") != "2026-01-02":
        p.append(f"day is {v.get('day')!r}")
    if v.get("tags") != ["one"]:
        p.append(f"tags is {v.get('tags')!r}")
    if v.get("id") != str(U):
        p.append(f"id is {v.get('id')!r}")
    if str(v.get("money")) != "1.25":
        p.append(f"money is {v.get('money')!r}")
    if v.get("colour") not in ("red", "RED"):
        p.append(f"colour is {v.get('colour')!r}")
    if not isinstance(v.get("point"), dict) or v["point"].get("x") != 3:
        p.append(f"point is {v.get('point')!r}")
    if v.get("pair") != [1, 2]:
        p.append(f"pair is {v.get('pair')!r}")
    if v.get("keys") != {"1": "one", "2": "two"}:
        p.append(f"keys is {v.get('keys')!r}")
    if not str(v.get("deep", [{}])[0].get("at")).startswith("2026-03-04T"):
        p.append(f"deep is {v.get('deep')!r}")
    if "nothing" not in v or v["nothing"] is not None:
        p.append("a null value was dropped from the state")
    return p
