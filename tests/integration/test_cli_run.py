"""``run``: the events of a turn, its request, its questions, and how it ends."""

from __future__ import annotations

import base64
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.support.command_line import Project, project_in
from yai_nexus_agentkit.testing import assert_conformant

AGENT = """
    import operator, sys
    from typing import Annotated, Any, TypedDict
    from langchain_core.tools import tool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition
    from langgraph.types import interrupt
    from yai_nexus_agentkit import EventEmitter
    from yai_nexus_agentkit.orchestration.approvals import require_approval
    from yai_nexus_agentkit.orchestration.client_tools import client_tools, tool_routes
    from yai_nexus_agentkit.testing import ScriptedChatModel, tool_calls_part

    class State(MessagesState):
        topic: str

    def one(node, state=State, **compile_args):
        return StateGraph(state).add_node("work", node).add_edge(START, "work").compile(**compile_args)

    async def say(state, text):
        return {"messages": [await ScriptedChatModel(script=[[text]]).ainvoke(state["messages"])]}

    async def echo(state):
        last = state["messages"][-1] if state["messages"] else None
        return await say(state, f"{state.get('topic')}: {last.content if last else 'nothing'}")
    echoing = one(echo)

    def count(state):
        return {"messages": [("ai", f"{len(state['messages'])} messages")]}
    counting = one(count)

    def printing(state):
        print("a node prints")
        return {"topic": "printed"}
    prints = one(printing)

    def fail(state):
        raise ValueError("no luck")
    failing = one(fail)

    def unwell(state):
        EventEmitter().emit("")
        return {"topic": "fine"}
    warned = one(unwell)

    async def ask(state):
        first = interrupt({"message": "Which city?"})
        second = interrupt("Sure?", response_schema={"type": "boolean"})
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

    async def fill(state):
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        return await say(state, repr(interrupt("A number?", response_schema=schema)))
    form = one(fill, checkpointer=InMemorySaver())

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

    class Context(TypedDict):
        tenant: str
    def tenant(state, runtime):
        return {"topic": f"{runtime.context['tenant']}"}
    from langgraph.runtime import Runtime
    tenant.__annotations__["runtime"] = Runtime[Context]
    contextual = StateGraph(State, context_schema=Context).add_node("work", tenant).add_edge(START, "work").compile()

    async def write(state):
        model = ScriptedChatModel(script=[[tool_calls_part(("write", {"text": "Once upon"}, "c1"))]])
        return {"messages": [await model.ainvoke(state["messages"])]}
    writing = one(write)
"""


@pytest.fixture
def project(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    with project_in(tmp_path, capsys, monkeypatch) as project:
        project.write("my_agent.py", AGENT)
        yield project


def text_of(events: list[dict[str, object]]) -> str:
    return "".join(str(event["delta"]) for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


# ---------------------------------------------------------------- the request


def test_json_is_one_wire_event_per_line(project: Project) -> None:
    result = project.run("my_agent:echoing", "hi", "--json", "--thread", "t-1")

    assert result.code == 0
    assert result.types[0] == "RUN_STARTED"
    assert result.types[-1] == "RUN_FINISHED"
    assert result.events[0]["threadId"] == "t-1"
    assert text_of(result.events) == "None: hi"
    assert_conformant(result.events)


def test_options_may_stand_before_and_between_the_arguments(project: Project) -> None:
    result = project.run("--json", "my_agent:echoing", "--thread", "t-1", "hi")

    assert text_of(result.events) == "None: hi"


def test_without_a_message_the_graph_gets_none(project: Project) -> None:
    assert text_of(project.run("my_agent:echoing", "--json").events) == "None: nothing"


def test_state_comes_from_a_file(project: Project) -> None:
    project.write("state.json", '{"topic": "Boats"}')

    assert text_of(project.run("my_agent:echoing", "hi", "--json", "--state", "state.json").events) == "Boats: hi"


def test_state_comes_from_standard_input(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"topic": "Boats"}'))

    assert text_of(project.run("my_agent:echoing", "hi", "--json", "--state", "-").events) == "Boats: hi"


def test_a_whole_request_comes_from_a_file_and_arguments_go_over_it(project: Project) -> None:
    earlier = [{"id": "1", "role": "user", "content": "a"}, {"id": "2", "role": "assistant", "content": "b"}]
    fields = {"threadId": "from-file", "runId": "r-1", "messages": earlier, "state": {"topic": "Boats"}}
    project.write("request.json", json.dumps(fields))

    result = project.run("my_agent:counting", "and now?", "--json", "--input", "request.json", "--thread", "t-9")

    assert (result.events[0]["threadId"], result.events[0]["runId"]) == ("t-9", "r-1")
    assert text_of(result.events) == "3 messages"


def test_attached_files_are_parts_of_the_message(project: Project) -> None:
    (project.folder / "dot.png").write_bytes(b"\x89PNG")
    (project.folder / "notes.pdf").write_bytes(b"%PDF")

    result = project.run("my_agent:echoing", "Look", "--attach", "dot.png", "--attach", "notes.pdf", "--json")

    assert base64.b64encode(b"\x89PNG").decode() in text_of(result.events)
    assert "notes.pdf" in text_of(result.events)


def test_context_reaches_the_graph(project: Project) -> None:
    result = project.run("my_agent:contextual", "--context", "tenant=acme", "--json")

    assert result.code == 0, result.err
    assert result.events[-2]["snapshot"] == {"topic": "acme"}


def test_adapter_options_are_flags(project: Project) -> None:
    chunks = project.run("my_agent:echoing", "hi", "--json", "--text-chunks")
    assert "TEXT_MESSAGE_CHUNK" in chunks.types

    predicted = project.run("my_agent:writing", "hi", "--json", "--predict-state", "topic=write.text")
    assert {"op": "add", "path": "/topic", "value": "Once upon"} in [
        operation for event in predicted.events if event["type"] == "STATE_DELTA" for operation in event["delta"]
    ]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--state", "none.json"], "--state: none.json cannot be read: No such file or directory"),
        (["--state", "text.json"], "--state: text.json is not JSON: Expecting value: line 1 column 1 (char 0)"),
        (["--state", "list.json"], "--state: list.json must hold a JSON object"),
        (["--tools", "object.json"], "--tools: object.json must hold a JSON list"),
        (["--input", "list.json"], "--input: list.json must hold a JSON object"),
        (["--attach", "none.png"], "--attach: none.png cannot be read: No such file or directory"),
        (["--configurable", "x"], "--configurable takes KEY=VALUE, not 'x'"),
        (["--context", "=x"], "--context takes KEY=VALUE, not '=x'"),
        (["--predict-state", "x=y"], "--predict-state takes KEY=TOOL.ARGUMENT, not 'x=y'"),
        (["--checkpointer", "x"], "--checkpointer takes memory, sqlite:PATH or postgres://..., not 'x'"),
        (["--checkpointer", "sqlite:no/such/folder/x"], "--checkpointer: there is no folder no/such/folder"),
        (
            ["--checkpointer", "sqlite:text.json"],
            "--checkpointer sqlite:text.json: DatabaseError: file is not a database",
        ),
        (["--input", "number.json"], "--input: messages must be a list of objects with an id and a role"),
    ],
)
def test_wrong_arguments_are_one_line(project: Project, arguments: list[str], line: str) -> None:
    project.write("text.json", "hello")
    project.write("number.json", '{"messages": 5}')
    project.write("list.json", "[]")
    project.write("object.json", "{}")

    result = project.run("my_agent:echoing", "hi", *arguments)

    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"yai-nexus-agentkit: {line}")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["my_agent:echoing", "hi", "there"], ["my_agent:echoing", "--source", "x"]])
def test_wrong_usage_ends_with_2(project: Project, arguments: list[str]) -> None:
    result = project.run(*arguments)

    assert result.code == 2
    assert "usage: yai-nexus-agentkit run AGENT [message] [options]" in result.err


# ---------------------------------------------------------------- how a run ends


def test_a_run_that_fails_ends_with_1_and_says_where(project: Project) -> None:
    result = project.run("my_agent:failing", "hi")

    assert result.code == 1
    assert "RUN_ERROR          AGENT_ERROR: no luck\n" in result.out
    line = 1 + AGENT.split("\n").index('        raise ValueError("no luck")')
    assert result.err == f"ValueError at my_agent.py:{line}, in fail; --traceback shows the way there\n"


def test_the_traceback_of_a_run_that_fails(project: Project) -> None:
    result = project.run("my_agent:failing", "hi", "--traceback")

    assert result.code == 1
    assert "Traceback (most recent call last)" in result.err
    assert "in fail\n" in result.err


def test_a_request_that_is_refused_ends_with_1(project: Project) -> None:
    project.write("request.json", '{"threadId": 5}')

    result = project.run("my_agent:echoing", "--input", "request.json", "--json")

    assert (result.code, result.last["code"]) == (1, "INVALID_INPUT")


def test_warnings_are_lines_on_standard_error(project: Project) -> None:
    result = project.run("my_agent:warned", "hi", "--json")

    assert result.code == 0
    assert "EventEmitter.emit: ValueError" in result.err
    assert "Traceback" not in result.err


def test_a_node_that_prints_does_not_disturb_the_json(project: Project) -> None:
    result = project.run("my_agent:prints", "hi", "--json")

    assert result.types[-1] == "RUN_FINISHED"
    assert result.err == "a node prints\n"


# ---------------------------------------------------------------- questions


def test_a_question_without_a_terminal_ends_with_3(project: Project) -> None:
    result = project.run("my_agent:asking", "hi")

    assert result.code == 3
    assert result.out.splitlines()[-3:-1] == [
        "RUN_FINISHED       paused with a question",
        "                   ? Which city?",
    ]


def test_answers_are_given_in_order_as_json_or_text(project: Project) -> None:
    result = project.run("my_agent:asking", "hi", "--json", "--answer", "Bonn", "--answer", "y")

    assert result.code == 0
    assert text_of(result.events) == "'Bonn' True"
    runs = [event for event in result.events if event["type"] == "RUN_STARTED"]
    assert len(runs) == 3
    assert len({event["threadId"] for event in runs}) == 1
    assert len({event["runId"] for event in runs}) == 3


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (['{"city": "Bonn"}', "false"], "{'city': 'Bonn'} False"),
        (["42", "n"], "42 False"),
        (['"42"', "yes"], "'42' True"),
        (["/cancel", "No"], "{'status': 'cancelled'} False"),
    ],
)
def test_what_answers_mean(project: Project, answers: list[str], told: str) -> None:
    given = [argument for answer in answers for argument in ("--answer", answer)]

    assert text_of(project.run("my_agent:asking", "hi", "--json", *given).events) == told


@pytest.mark.parametrize(("answer", "told"), [("y", "paid 5"), ("n", "The user did not approve the call of pay.")])
def test_an_approval_is_yes_or_no(project: Project, answer: str, told: str) -> None:
    [result] = [
        event
        for event in project.run("my_agent:approving", "hi", "--json", "--answer", answer).events
        if event["type"] == "TOOL_CALL_RESULT"
    ]

    assert result["content"].startswith(told)


def test_an_answer_that_does_not_fit_ends_with_1(project: Project) -> None:
    result = project.run("my_agent:form", "hi", "--json", "--answer", '{"n": "many"}')

    assert (result.code, result.last["code"]) == (1, "INVALID_RESUME")


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
    assert text_of(answered.events) == "'Bonn' True"


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
    assert 'RUN_FINISHED       success, the client executes confirm(what="x"), pick()\n' in result.out


def test_results_of_client_tools_go_back_with_the_whole_history(project: Project) -> None:
    project.write("tools.json", TOOLS)
    given = ["--tools", "tools.json", "--answer", "yes", "--answer", '{"n": 1}']

    result = project.run("my_agent:calling_client", "hi", "--json", *given)

    assert result.code == 0
    assert text_of(result.events) == snapshot("4 messages, ['yes', '{\"n\": 1}']")
