"""``run``: the questions of an agent, from its interrupts and its client tools, and their answers."""

from __future__ import annotations

import pytest

from tests.support.command_line import Project, project_with

AGENT = """
    from langchain_core.tools import tool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode
    from langgraph.types import interrupt
    from yai_nexus_agentkit.orchestration.approvals import require_approval
    from yai_nexus_agentkit.orchestration.client_tools import client_tools, tool_routes
    from yai_nexus_agentkit.testing import ScriptedChatModel, tool_calls_part

    def one(node, **compile_args):
        return StateGraph(MessagesState).add_node("work", node).add_edge(START, "work").compile(**compile_args)

    async def say(state, text):
        return {"messages": [await ScriptedChatModel(script=[[text]]).ainvoke(state["messages"])]}

    async def ask(state):
        first = interrupt({"message": "Which city?"})
        second = interrupt({"question": "Sure?"})
        return await say(state, f"{first!r} {second!r}")
    asking = one(ask, checkpointer=InMemorySaver())
    asking_without_memory = one(ask)

    @tool
    def pay(amount: int) -> str:
        "Pays."
        return f"paid {amount}"
    async def want(state):
        model = ScriptedChatModel(script=lambda messages: [tool_calls_part(("pay", {"amount": 5}, "c1"))])
        return {"messages": [await model.ainvoke(state["messages"])]}
    builder = StateGraph(MessagesState).add_node("want", want).add_edge(START, "want")
    builder.add_node("tools", ToolNode([require_approval(pay)])).add_edge("want", "tools")
    approving = builder.compile(checkpointer=InMemorySaver())

    after_model, after_tools = tool_routes(server_tools=[])
    async def agent(state, config):
        results = [m for m in state["messages"] if m.type == "tool"]
        if results:
            return await say(state, f"{len(state['messages'])} messages, {[m.content for m in results]}")
        model = ScriptedChatModel(script=[[tool_calls_part(("confirm", {"what": "x"}, "c1"), ("pick", {}, "c2"))]])
        return {"messages": [await model.bind_tools(client_tools(config)).ainvoke(state["messages"])]}
    builder = StateGraph(MessagesState).add_node("agent", agent).add_edge(START, "agent")
    builder.add_conditional_edges("agent", after_model)
    calling_client = builder.compile()
"""

project = project_with(AGENT)


def text_of(events: list[dict[str, object]]) -> str:
    return "".join(str(event["delta"]) for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


def test_a_question_without_a_terminal_ends_with_3(project: Project) -> None:
    result = project.run("my_agent:asking", "hi")

    assert result.code == 3
    *_, finished, count, question = result.out.splitlines()
    assert finished == "RUN_FINISHED       paused with a question"
    assert count.lstrip()[0].isdigit()
    assert question == "                   ? Which city?"
    assert result.out.count("Which city?") == 1


def test_answers_are_given_in_order_as_json_or_text(project: Project) -> None:
    result = project.run("my_agent:asking", "hi", "--json", "--answer", "Bonn", "--answer", "yes, sure")

    assert result.code == 0
    assert text_of(result.events) == "'Bonn' 'yes, sure'"
    runs = [event for event in result.events if event["type"] == "RUN_STARTED"]
    assert len(runs) == 3
    assert len({event["threadId"] for event in runs}) == 1
    assert len({event["runId"] for event in runs}) == 3


@pytest.mark.parametrize(
    ("answers", "sent"),
    [
        (['{"city": "Bonn"}', "false"], "{'city': 'Bonn'} False"),
        (["42", "y"], "42 'y'"),
        (['"42"', "null"], "'42' None"),
        (["/cancel", "[1]"], "{'status': 'cancelled'} [1]"),
    ],
)
def test_what_answers_mean(project: Project, answers: list[str], sent: str) -> None:
    given = [argument for answer in answers for argument in ("--answer", answer)]

    assert text_of(project.run("my_agent:asking", "hi", "--json", *given).events) == sent


@pytest.mark.parametrize(("answer", "sent"), [("y", "paid 5"), ("n", "The user did not approve the call of pay.")])
def test_an_approval_is_yes_or_no(project: Project, answer: str, sent: str) -> None:
    [result] = [
        event
        for event in project.run("my_agent:approving", "hi", "--json", "--answer", answer).events
        if event["type"] == "TOOL_CALL_RESULT"
    ]

    assert result["content"].startswith(sent)


@pytest.mark.parametrize(
    ("answer", "sent"),
    [("y", ["paid 1", "paid 2"]), ("n", ["rejected", "rejected"])],
)
def test_langchains_middleware_is_answered_for_all_its_calls(project: Project, answer: str, sent: list[str]) -> None:
    project.write(
        "reviewed.py",
        """
        from langchain.agents import create_agent
        from langchain.agents.middleware import HumanInTheLoopMiddleware
        from langgraph.checkpoint.memory import InMemorySaver
        from yai_nexus_agentkit.testing import ScriptedChatModel, tool_calls_part

        def pay(amount: int) -> str:
            "Pays."
            return f"paid {amount}"
        calls = tool_calls_part(("pay", {"amount": 1}, "c1"), ("pay", {"amount": 2}, "c2"))
        agent = create_agent(
            ScriptedChatModel(script=[calls, "Done."]),
            tools=[pay],
            middleware=[HumanInTheLoopMiddleware(interrupt_on={"pay": True})],
            checkpointer=InMemorySaver(),
        )
        """,
    )

    result = project.run("reviewed:agent", "hi", "--json", "--answer", answer)

    assert result.code == 0, result.last
    contents = sorted(event["content"] for event in result.events if event["type"] == "TOOL_CALL_RESULT")
    assert len(contents) == 2
    assert all(part in content for part, content in zip(sent, contents, strict=True))


def test_too_few_answers_end_with_3(project: Project) -> None:
    assert project.run("my_agent:asking", "hi", "--answer", "Bonn").code == 3


def test_a_question_without_a_checkpointer_is_an_error_that_the_checkpointer_option_mends(project: Project) -> None:
    without = project.run("my_agent:asking_without_memory", "hi", "--json")
    mended = project.run("my_agent:asking_without_memory", "hi", "--checkpointer", "memory")

    assert (without.code, without.last["type"]) == (1, "RUN_ERROR")
    assert mended.code == 3


def test_a_thread_in_sqlite_is_continued_by_the_next_command(project: Project) -> None:
    where = ["--checkpointer", "sqlite:threads.sqlite", "--thread", "t-1", "--json"]

    first = project.run("my_agent:asking_without_memory", "hi", *where)
    again = project.run("my_agent:asking_without_memory", *where)
    answered = project.run("my_agent:asking_without_memory", *where, "--answer", "Bonn", "--answer", "y")

    assert (first.code, again.code, answered.code) == (3, 3, 0)
    assert again.last["outcome"]["interrupts"][0]["message"] == "Which city?"
    assert text_of(answered.events) == "'Bonn' 'y'"


def test_a_checkpointer_needs_a_graph(project: Project) -> None:
    project.write("other.py", "from langchain_core.runnables import RunnableLambda\nagent = RunnableLambda(str)")

    result = project.run("other:agent", "--checkpointer", "memory")

    assert result.code == 2
    assert "--checkpointer needs a compiled graph; other:agent is of type RunnableLambda" in result.err


# ---------------------------------------------------------------- client tools

TOOLS = '[{"name": "confirm", "description": "asks"}, {"name": "pick", "description": "asks"}]'


def test_client_tools_that_nobody_executes_end_with_3(project: Project) -> None:
    project.write("tools.json", TOOLS)

    result = project.run("my_agent:calling_client", "hi", "--tools", "tools.json")

    assert result.code == 3
    assert "RUN_FINISHED       success, waits for tools of the client\n" in result.out
    assert '\n                   ? confirm(what="x")\n' in result.out


def test_results_of_client_tools_go_back_with_the_whole_history(project: Project) -> None:
    project.write("tools.json", TOOLS)
    given = ["--tools", "tools.json", "--answer", "yes", "--answer", '{"n": 1}']

    result = project.run("my_agent:calling_client", "hi", "--json", *given)

    assert result.code == 0
    assert text_of(result.events) == "4 messages, ['yes', '{\"n\": 1}']"
