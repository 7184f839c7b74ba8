"""People go back, edit, repeat, switch between answers and begin alike: what the agent sees is what was posted."""

from __future__ import annotations

import random
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, TypeAlias

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState

from tests.support.chats import chats_with, said, text_of
from tests.support.graphs import in_a_row
from tests.support.serving import call

Greeting: TypeAlias = tuple[str, ...]

STEPS = 60
TEXTS = ("hi", "and", "more", "hi there", "")
GREETINGS: tuple[Greeting, ...] = ((), (), ("Welcome.",), ("Welcome. Ask me.",))


def digest(texts: Iterable[str]) -> str:
    return sha256("\n".join(texts).encode()).hexdigest()[:12]


def mirror() -> Any:
    """Answers with a number that is new, and a digest of all that it sees."""
    answers = iter(range(10_000))

    def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{next(answers)} {digest(str(m.content) for m in state['messages'])}")]}

    return in_a_row({"agent": agent}, MessagesState, checkpointer=InMemorySaver())


class Person:
    """One chat of a person: a tree of messages, as Open WebUI keeps it, and the branch that is shown."""

    def __init__(self, app: Any, by_chance: random.Random, headers: Any, more: Any) -> None:
        self._app, self._by_chance, self._headers, self._more = app, by_chance, headers, more
        self._branches: list[tuple[Greeting, list[str]]] = [((), [])]

    async def step(self) -> None:
        chance = self._by_chance
        greeting, branch = chance.choice(self._branches)
        turn = chance.randrange(len(branch) // 2 + 1)
        match chance.choice(("say", "say", "say", "repeat", "edit", "switch", "title")):
            case "repeat" if branch:
                posted = branch[: max(1, turn * 2 - 1)]
            case "edit" if branch:
                posted = [*branch[: turn * 2], chance.choice(TEXTS)]
            case "title":
                posted = [f"Summarise: {len(branch)}"]
            case _:
                posted = [*branch, chance.choice(TEXTS)]
        if len(posted) == 1:
            greeting = chance.choice(GREETINGS)
        messages = [*({"role": "assistant", "content": text} for text in greeting), *said(*posted)]
        answer = await text_of(self._app, messages, self._headers, **self._more)
        assert answer.split()[1] == digest([*greeting, *posted]), f"{messages} was not what the agent saw"
        if not posted[0].startswith("Summarise"):
            self._branches = [*self._branches[-5:], (greeting, [*posted, answer])]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sessions", ["header", "conversation", "none"])
async def test_the_agent_sees_what_was_posted(sessions: Any, seed: int) -> None:
    """Two chats of one person, who begins both alike."""
    app, by_chance = chats_with(mirror(), sessions=sessions), random.Random(seed)
    people = [
        Person(app, by_chance, {"x-conversation-id": f"c{n}"} if sessions == "header" else None, {"user": "ann"})
        for n in range(2)
    ]
    for _ in range(STEPS):
        await by_chance.choice(people).step()
    kept = len((await call(app, "GET", "/model/threads")).json)
    assert (kept == 0) == (sessions == "none")
