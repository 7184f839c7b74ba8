"""Driver. An agent that does the errands named in the user's words, and a person who does anything a person may do.

What the user says is a program: ``look ask pick`` makes the model call these three tools at once. What the person does
next is drawn from a seeded generator, within what the client shows: an answer where a question is open, a result where
a call is pending, an edit of anything that was ever said.
"""

from __future__ import annotations

import operator
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode
from langgraph.types import Command, interrupt

from tests.support.graphs import Graph
from tests.support.histories import strict_model
from tests.support.people import Peer, Tab, resolved
from yai_nexus_agentkit.orchestration.approvals import require_approval
from yai_nexus_agentkit.orchestration.client_tools import client_tools, tool_routes
from yai_nexus_agentkit.testing import tool_calls_part

__all__ = ["CLIENT_TOOLS", "Errands", "Person", "World"]

World: TypeAlias = Literal["by hand", "create_agent", "deepagents"]

CLIENT_TOOLS = [
    {"name": name, "description": name, "parameters": {"type": "object", "properties": {}}} for name in ("pick", "show")
]
_SERVER = ("look", "ask", "twice", "pay", "note")
_CLIENT = ("pick", "show")


class Office(MessagesState):
    notes: Annotated[list[str], operator.add]


class Desk(Office):
    turns: Annotated[int, operator.add]


class Memory(MessagesState):
    """Of a subgraph that keeps its own thread."""

    remembered: int


class Errands:
    """The graph, and what its tools really did."""

    def __init__(self, world: World, saver: BaseCheckpointSaver[Any], *, recurring_ids: bool = False) -> None:
        """`recurring_ids`: the model numbers its calls anew in every message, as some do."""
        self.done: Counter[tuple[str, str]] = Counter()
        """Executions by message and call."""
        self._recurring = recurring_ids
        self._model = strict_model(self._answer, ids="all")
        build = {"by hand": self._by_hand, "create_agent": self._agent, "deepagents": self._deep_agent}[world]
        self.graph = build(saver)

    def _answer(self, messages: list[BaseMessage]) -> Any:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            heard = [m.text for m in messages if isinstance(m, ToolMessage)]
            return [f"All {len(heard)} done, ", f"last: {heard[-1][:40]}"]
        wanted = [word for word in last.text.split() if word in _SERVER + _CLIENT]
        base = "call" if self._recurring else f"call-{len(messages)}-{last.id}"
        calls = [
            (word, {} if word in _CLIENT else {"q": f"{word} {n}"}, f"{base}-{n}") for n, word in enumerate(wanted)
        ]
        said = [f"You said {last.text}. "]
        return [*said, tool_calls_part(*calls)] if calls else said

    def _tools(self) -> list[BaseTool]:
        done = self.done

        @tool
        async def look(q: str, state: Annotated[Any, InjectedState], call: Annotated[str, InjectedToolCallId]) -> str:
            """Look something up."""
            done[_place(state, call)] += 1
            return f"found {q}"

        @tool
        async def ask(q: str) -> str:
            """Ask the user."""
            return f"they said {interrupt({'question': q})}"

        @tool
        async def twice(q: str) -> str:
            """Ask the user twice."""
            return f"{interrupt(q)} and {interrupt(f'{q}, really?')}"

        @tool
        async def pay(q: str, state: Annotated[Any, InjectedState], call: Annotated[str, InjectedToolCallId]) -> str:
            """Pay."""
            done[_place(state, call)] += 1
            return f"paid {q}"

        @tool
        async def note(q: str, call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
            """Write it down."""
            return Command(update={"notes": [q], "messages": [ToolMessage(f"noted {q}", tool_call_id=call)]})

        return [look, ask, twice, require_approval(pay), note]

    def _by_hand(self, saver: BaseCheckpointSaver[Any]) -> Graph:
        """Two routers, a counter, and a subgraph that keeps a memory of its own."""
        tools = self._tools()
        after_model, after_tools = tool_routes(server_tools=tools)

        async def agent(state: Desk, config: RunnableConfig) -> dict[str, Any]:
            bound = self._model.bind_tools([*tools, *client_tools(config, exclude=tools)])
            return {"messages": [await bound.ainvoke(state["messages"], config)]}

        def count(state: Desk) -> dict[str, Any]:
            return {"turns": 1}

        memory: StateGraph[Any, Any, Any, Any] = StateGraph(Memory)
        memory.add_node("remember", lambda state: {"remembered": len(state["messages"])})
        memory.add_edge(START, "remember")
        builder: StateGraph[Any, Any, Any, Any] = StateGraph(Desk)
        builder.add_node("agent", agent)
        builder.add_node("tools", ToolNode(tools))
        builder.add_node("count", count)
        builder.add_node("memory", memory.compile(checkpointer=True))
        builder.add_edge("count", "memory")
        builder.add_edge(START, "agent")
        builder.add_conditional_edges("agent", after_model, {"tools": "tools", END: "count"})
        builder.add_conditional_edges("tools", after_tools, ["agent", END])
        return builder.compile(checkpointer=saver)

    def _agent(self, saver: BaseCheckpointSaver[Any]) -> Graph:
        from langchain.agents import AgentState, create_agent

        from yai_nexus_agentkit.orchestration.middleware import ClientToolsMiddleware

        class Clerk(AgentState[Any]):
            notes: Annotated[list[str], operator.add]

        graph: Any = create_agent(
            self._model,
            self._tools(),
            middleware=[ClientToolsMiddleware()],
            state_schema=Clerk,
            checkpointer=saver,
        )
        return graph  # type: ignore[no-any-return]

    def _deep_agent(self, saver: BaseCheckpointSaver[Any]) -> Graph:
        """Its messages are a channel of their own kind, and it has middleware of its own for calls left open."""
        from deepagents import create_deep_agent
        from langchain.agents import AgentState
        from langchain.agents.middleware import AgentMiddleware

        from yai_nexus_agentkit.orchestration.middleware import ClientToolsMiddleware

        class Clerk(AgentState[Any]):
            notes: Annotated[list[str], operator.add]

        class Notes(AgentMiddleware[Any, Any]):
            state_schema = Clerk

        graph: Any = create_deep_agent(
            model=self._model,
            tools=self._tools(),
            middleware=[Notes(), ClientToolsMiddleware()],
            checkpointer=saver,
        )
        return graph  # type: ignore[no-any-return]


def _place(state: Any, call: str) -> tuple[str, str]:
    """Which call this is, although ids may recur."""
    return next(str(m.id) for m in reversed(state["messages"]) if isinstance(m, AIMessage)), call


_Deed: TypeAlias = Callable[[], Awaitable[object]]


class Person:
    """Does one thing after the other; `log` says what."""

    def __init__(self, errands: Errands, peer: Peer, seed: int) -> None:
        self.log: list[str] = []
        self._errands, self._peer = errands, peer
        self._chance = random.Random(seed)
        self._pages = 0
        self._unheard: list[str] = []
        """Ids of messages that wait, with the client, for the answer to a question."""
        self.tab = self._page()

    async def act(self) -> None:
        """One turn: at least one request."""
        if self.tab.questions:
            deeds = self._at_a_question()
        elif self.tab.pending:
            deeds = self._at_a_pending_call()
        else:
            deeds = self._at_rest()
        name, deed = self._chance.choice(deeds)
        self.log.append(name)
        await deed()
        if not self.tab.questions:
            self._unheard.clear()
        assert max(self._errands.done.values(), default=1) == 1, f"a tool ran twice: {self._errands.done}"

    def _page(self) -> Tab:
        self._pages += 1
        name = f"page{self._pages}"
        return Tab(self._errands.graph, self._peer, name=name, tools=CLIENT_TOOLS)

    def _words(self) -> str:
        words = self._chance.sample(_SERVER + _CLIENT + ("hello",), self._chance.randint(1, 3))
        return " ".join(words)

    def _user_message(self) -> int:
        return self._chance.randrange([m["role"] for m in self.tab.messages].count("user"))

    # ------------------------------------------------------------------ what can be done

    def _at_a_question(self) -> list[tuple[str, _Deed]]:
        return [
            *[("answers", self._answer)] * 5,
            ("abandons", lambda: self.tab.cancel(beyond=self._unheard)),
            ("looks again", lambda: self.tab.send(beyond=self._unheard)),
            ("talks instead", self._talk_instead),
            ("talks and answers", self._talk_and_answer),
            ("answers nonsense", self._answer_nonsense),
            ("answers half", self._answer_half),
            ("edits", lambda: self._edit(reloaded=True)),
            ("comes back", self._reload),
        ]

    def _at_a_pending_call(self) -> list[tuple[str, _Deed]]:
        return [
            *[("returns results", self._return_results)] * 3,
            ("returns some", self._return_some),
            ("says on", lambda: self.tab.say(self._words())),
            ("looks again", lambda: self.tab.send()),
            ("edits", self._edit),
            ("comes back", self._reload),
        ]

    def _at_rest(self) -> list[tuple[str, _Deed]]:
        says: list[tuple[str, _Deed]] = [("says", lambda: self.tab.say(self._words()))]
        if not self.tab.messages:
            return says
        return [
            *says * 5,
            ("edits", self._edit),
            ("edits under a new id", lambda: self._edit(id=f"new-{len(self.tab.runs)}-{self._pages}")),
            ("regenerates", lambda: self.tab.regenerate(self._user_message())),
            ("cuts and says", self._cut_and_say),
            ("looks again", lambda: self.tab.send()),
            ("comes back", self._reload),
            ("comes back with a window", self._window),
        ]

    async def _answer(self) -> None:
        await self.tab.send(resume=self._entries(), beyond=self._unheard)

    def _entries(self) -> list[dict[str, Any]]:
        approvals = [{"approved": True}, {"approved": False, "reason": "no"}]
        answers = [self._chance.choice(approvals if "responseSchema" in q else ["yes", 7]) for q in self.tab.questions]
        return [resolved(q["id"], answer) for q, answer in zip(self.tab.questions, answers, strict=True)]

    async def _talk_instead(self) -> None:
        self._unheard.append(id := f"aside-{self._pages}-{len(self.tab.runs)}")
        await self.tab.say(self._words(), id=id, beyond=self._unheard, reloaded=True)

    async def _talk_and_answer(self) -> None:
        self._unheard.append(id := f"aside-{self._pages}-{len(self.tab.runs)}")
        await self.tab.say(self._words(), id=id, resume=self._entries(), beyond=self._unheard)

    async def _answer_nonsense(self) -> None:
        asked = self.tab.questions
        entries = [resolved(q["id"], "?") if "responseSchema" in q else resolved("0" * 32, 1) for q in asked]
        await self.tab.send(resume=entries, reloaded=True)
        assert self.tab.outcome == "INVALID_RESUME"
        await self.tab.send(beyond=self._unheard)
        assert {q["id"] for q in self.tab.questions} == {q["id"] for q in asked}

    async def _answer_half(self) -> None:
        asked = self.tab.questions
        await self.tab.send(resume=self._entries()[1:] or None, reloaded=True, beyond=self._unheard)
        assert self.tab.outcome == ("INVALID_RESUME" if len(asked) > 1 else "interrupt")
        await self.tab.send(beyond=self._unheard)
        assert {q["id"] for q in self.tab.questions} == {q["id"] for q in asked}

    async def _return_results(self) -> None:
        contents = [self._chance.choice(["red", {"colour": "red"}, ""]) for _ in self.tab.pending]
        await self.tab.return_results(*contents)

    async def _return_some(self) -> None:
        call = self._chance.choice(self.tab.pending)
        await self.tab.send([*self.tab.messages, self.tab.result(call, "it broke", error="broken")])

    async def _edit(self, *, id: str | None = None, **how: Any) -> None:
        """Also of a message that nobody has heard yet: it stays unheard then, and those after it are gone."""
        number = self._user_message()
        users = [m["id"] for m in self.tab.messages if m["role"] == "user"]
        self._unheard = [i for i in self._unheard if i in users[: number + 1]]
        if users[number] not in self._unheard:
            self._unheard.clear()
        await self.tab.edit(number, self._words() + " again", id=id, beyond=self._unheard, **how)

    async def _cut_and_say(self) -> None:
        if number := self._user_message():  # a request without anything of the thread would be no cut
            self.tab.cut(number)
        await self.tab.say(self._words())

    async def _reload(self) -> None:
        self._unheard.clear()
        self.tab = self._page()
        await self.tab.send()

    async def _window(self) -> None:
        shown, state = self.tab.messages, self.tab.state
        self.tab = self._page()
        self.tab.messages, self.tab.state = shown[-self._chance.randint(1, 4) :], state
        await self.tab.say(self._words())
