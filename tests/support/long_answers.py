"""An agent whose answers are long: the message names one of `ANSWERS`; with "stream" behind, it comes in pieces."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from yai_nexus_agentkit.testing import ScriptedChatModel

__all__ = ["ANSWERS", "graph"]

COUNT = 5000
ANSWERS = {
    "paragraphs": "".join(f"Paragraph {n} has *some* words and `code`.\n\n" for n in range(COUNT)),
    "table": "| a | b |\n| --- | --- |\n" + "".join(f"| row {n} | *value* &copy; |\n" for n in range(COUNT)),
    "list": "".join(f"- item {n} with <b>HTML</b> and [x](javascript:hacked=1)\n" for n in range(COUNT)),
    "linked": "[x]: https://example.com\n\n" + "".join(f"A [link][x] in paragraph {n}.\n\n" for n in range(COUNT)),
    "code": "```python\n" + "".join(f"def f{n}():\n    return {n}\n\n" for n in range(COUNT)) + "```\n",
}


def script(messages: list[BaseMessage]) -> list[str]:
    name, _, how = messages[-1].text.partition(" ")
    text = ANSWERS[name]
    step = 3000 if how == "stream" else len(text)
    return [text[at : at + step] for at in range(0, len(text), step)]


def graph() -> Any:
    model = ScriptedChatModel(script=script, pause=0.01)

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile(checkpointer=InMemorySaver())
