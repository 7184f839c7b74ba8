"""Questions with a schema, which the first releases of LangGraph 1.2 do not have."""

from __future__ import annotations

import pytest

from tests.support.command_line import Project, project_with
from tests.support.screen import in_a_terminal

AGENT = """
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.types import interrupt

    def asking(schema):
        def ask(state):
            return {"messages": [("ai", f"{interrupt('Well?', response_schema=schema)!r}")]}
        builder = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask")
        return builder.compile(checkpointer=InMemorySaver())

    boolean = asking({"type": "boolean"})
    integer = asking({"type": "integer"})
    string = asking({"type": "string"})
    choice = asking({"enum": ["red", "blue"]})
"""

project = project_with(AGENT)


@pytest.mark.parametrize(
    ("agent", "answer", "sent"),
    [
        ("boolean", "y", "True"),
        ("boolean", "No", "False"),
        ("boolean", "true", "True"),
        ("integer", "41", "41"),
        ("string", "42", "'42'"),
        ("string", '"quoted"', "'quoted'"),
        ("choice", "red", "'red'"),
    ],
)
def test_the_schema_says_what_an_answer_means(project: Project, agent: str, answer: str, sent: str) -> None:
    result = project.run(f"my_agent:{agent}", "hi", "--json", "--answer", answer)

    assert result.code == 0
    assert [event["delta"] for event in result.events if event["type"] == "TEXT_MESSAGE_CONTENT"] == [sent]


@pytest.mark.parametrize(("agent", "answer"), [("boolean", "maybe"), ("integer", "many"), ("choice", "green")])
def test_an_answer_that_does_not_fit_ends_with_1(project: Project, agent: str, answer: str) -> None:
    result = project.run(f"my_agent:{agent}", "hi", "--json", "--answer", answer)

    assert (result.code, result.last["code"]) == (1, "INVALID_RESUME")


def test_a_terminal_asks_until_the_answer_fits(project: Project) -> None:
    with in_a_terminal(project.folder, "run", "my_agent:choice", "hi") as (screen, process):
        screen.wait_for("Well?\n                   type red, blue, or /cancel\n> ")
        screen.type("green\n")
        screen.wait_for("RUN_ERROR          INVALID_RESUME")
        screen.wait_for("red, blue, or /cancel\n> ")
        screen.type("blue\n")
        screen.wait_for("RUN_FINISHED       success\n")
        assert process.wait(timeout=30) == 0
