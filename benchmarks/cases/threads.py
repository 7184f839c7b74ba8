"""Long threads: what they hold, and what is new."""

from __future__ import annotations

import copy
import json
from functools import lru_cache
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks.cases.parts import answering, one_node
from benchmarks.registry import Scene, Turn, agent_case
from yai_nexus_agentkit.adapter.langgraph.messages.convert import to_agui
from yai_nexus_agentkit.testing import run_input

_NEW = {"id": "user-new", "role": "user", "content": "and now?"}
_ANSWER = 20


@agent_case("a thread of {size} messages, the client has them all", size=3_000, small=100)
def thread_in_sync(size: int) -> Scene:
    """A page that was open all the time: only the new answer must travel."""
    return _scene(size, json.loads(_held(size)))


@agent_case("a thread of {size} messages, the client has none", size=3_000, small=100)
def thread_new_client(size: int) -> Scene:
    """A page that was reloaded: its history must travel once."""
    return _scene(size, [])


@agent_case("two threads of {size} messages at once, the clients have them all", size=1_000, small=20)
def threads_at_once(size: int) -> Scene:
    """As `thread_in_sync`. Several runs are no replay, so that the gate counts what the endpoint does as well."""
    return _scene(size, json.loads(_held(size)), "thread", "other")


def _scene(size: int, held: list[dict[str, Any]], *threads: str) -> Scene:
    """The bare loop has the new message only, as input to the same thread."""
    threads = threads or ("thread",)
    graph = one_node(answering(_ANSWER)).copy({"checkpointer": _copy(_stored(size, *threads))})
    given = {"messages": [HumanMessage(_NEW["content"], id=_NEW["id"])]}
    requests = [run_input([*held, _NEW], thread_id=thread, run_id="run") for thread in threads]
    return Scene(graph, [Turn(request, given) for request in requests])


def _messages(size: int) -> list[BaseMessage]:
    kinds = (HumanMessage, AIMessage)
    return [kinds[n % 2](f"Message {n}: " + "what was said here. " * 8, id=f"message-{n}") for n in range(size)]


@lru_cache(maxsize=1)
def _stored(size: int, *threads: str) -> InMemorySaver:
    graph = one_node(answering(_ANSWER))
    for thread in threads:
        graph.update_state({"configurable": {"thread_id": thread}}, {"messages": _messages(size)}, "agent")
    assert isinstance(graph.checkpointer, InMemorySaver)
    return graph.checkpointer


@lru_cache(maxsize=1)
def _held(size: int) -> str:
    """The client's messages of the thread, as JSON: each scene gets objects of its own."""
    return json.dumps([json.loads(message.model_dump_json(by_alias=True)) for message in to_agui(_messages(size))])


def _copy(saver: InMemorySaver) -> InMemorySaver:
    """A saver with the same threads, so that every measurement starts from the same checkpoint."""
    made = InMemorySaver()
    made.storage, made.writes, made.blobs = copy.deepcopy((saver.storage, saver.writes, saver.blobs))
    return made
