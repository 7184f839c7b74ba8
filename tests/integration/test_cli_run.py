"""``run``: the events of a turn, its request, its questions, and how it ends."""

from __future__ import annotations

import base64
import io
import json
import sys
from dataclasses import fields
from typing import Any, get_args

import pytest

from tests.support.command_line import Project, project_with, run_main
from yai_nexus_agentkit.adapter import options
from yai_nexus_agentkit.adapter.options import AdapterOptions
from yai_nexus_agentkit.cli.arguments import OPTIONS
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

project = project_with(AGENT)


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


def test_a_message_may_begin_with_a_dash(project: Project) -> None:
    assert text_of(project.run("my_agent:echoing", "--json", "--", "-5 degrees?").events) == "None: -5 degrees?"


def test_without_a_message_and_a_state_there_is_nothing_to_run(project: Project) -> None:
    result = project.run("my_agent:echoing", "--json")

    assert (result.code, text_of(result.events)) == (0, "")
    assert result.types[-1] == "RUN_FINISHED"


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
    result = project.run("my_agent:contextual", "hi", "--context", "tenant=acme", "--json")

    assert result.code == 0, result.err
    assert result.events[-2]["delta"] == [{"op": "add", "path": "/topic", "value": "acme"}]


def test_adapter_options_are_flags(project: Project) -> None:
    chunks = project.run("my_agent:echoing", "hi", "--json", "--text-chunks")
    assert "TEXT_MESSAGE_CHUNK" in chunks.types

    predicted = project.run("my_agent:writing", "hi", "--json", "--predict-state", "topic=write.text")
    assert {"op": "add", "path": "/topic", "value": "Once upon"} in [
        operation for event in predicted.events if event["type"] == "STATE_DELTA" for operation in event["delta"]
    ]


def test_every_setting_that_can_be_written_on_a_command_line_is_a_flag() -> None:
    written = {field.name: str(field.type) for field in fields(AdapterOptions)}

    for name, (kind, help_text) in OPTIONS.items():
        assert help_text, name
        if choices := kind.get("choices"):
            assert tuple(choices) == get_args(eval(written[name].removesuffix(" | None"), vars(options))), name
        elif name != "predict_state":
            assert written[name] == ("PositiveFloat | None" if kind.get("type") is float else "bool"), name
    assert written.keys() == {*OPTIONS, "step_name", "visible"}, "all but the functions"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--state", "none.json"], "--state: none.json cannot be read: No such file or directory"),
        (["--state", "text.json"], "--state: text.json is not JSON: Expecting value: line 1 column 1 (char 0)"),
        (["--state", "twice.json"], "--state: twice.json is not JSON: the key 'a' occurs twice in an object"),
        (["--state", "nan.json"], "--state: nan.json is not JSON: NaN is not JSON"),
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
        (["--idle-timeout", "-1"], "AdapterOptions.idle_timeout must be greater than 0 or None, not -1.0"),
        (["--input", "number.json"], "--input: messages must be a list of objects with an id and a role"),
    ],
)
def test_wrong_arguments_are_one_line(project: Project, arguments: list[str], line: str) -> None:
    project.write("text.json", "hello")
    project.write("twice.json", '{"a": 1, "a": 2}')
    project.write("nan.json", '{"a": NaN}')
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


def test_a_model_for_a_graph_that_is_made_already_is_warned_about(project: Project) -> None:
    project.write("made.py", "from my_agent import echoing\ndef graph():\n    return echoing")
    warned = project.run("my_agent:echoing", "hi", "--model", "provider:name")
    silent = project.run("made:graph", "hi", "--model", "provider:name")

    assert "WARNING: --model: my_agent:echoing already exists" in warned.err
    assert (warned.code, silent.code, silent.err) == (0, 0, "")


@pytest.mark.parametrize("name", ["starts", "AGUI", "agui001", ""])
def test_a_rule_that_does_not_exist_cannot_be_ignored(project: Project, name: str) -> None:
    result = project.verify("my_agent:echoing", "--ignore", name)

    assert result.code == 2
    assert f"--ignore: there is no rule {name!r}; the rules are model, start, terminal," in result.err


@pytest.mark.parametrize("name", ["start", "id-drift", "model", "AGUI504"])
def test_rules_that_exist_can_be_ignored(project: Project, name: str) -> None:
    assert project.verify("my_agent:echoing", "--ignore", name).code == 0


LEGAL = """
from langchain_core.messages import AIMessage, RemoveMessage
from langgraph.graph import START, MessagesState, StateGraph
from yai_nexus_agentkit.testing import ScriptedChatModel

model = ScriptedChatModel(script=lambda messages: ["Hello"])

async def say(state):
    return {"messages": [await model.ainvoke(state["messages"])]}

async def copy(state):
    return {"messages": [("ai", (await model.ainvoke(state["messages"])).text)]}

def remove(state):
    return {"messages": [RemoveMessage(id=state["messages"][-1].id)], "kept": state["messages"][-1]}

def restore(state):
    return {"messages": [state["kept"]]}

class State(MessagesState):
    kept: AIMessage

copying = StateGraph(State).add_sequence([copy]).add_edge(START, "copy").compile()
restoring = StateGraph(State).add_sequence([say, remove, restore]).add_edge(START, "say").compile()
"""


@pytest.mark.parametrize(("agent", "advised"), [("copying", 1), ("restoring", 0)])
def test_what_is_unwise_is_legal(project: Project, agent: str, advised: int) -> None:
    project.write("legal.py", LEGAL)
    result = project.verify(f"legal:{agent}", "--advice")
    assert result.code == 0
    assert result.out.count("legal, but unwise: run 0 event") == result.out.count("[id-drift]") == advised
    assert result.out.endswith("\nconformant\n")
    report = json.loads(project.verify(f"legal:{agent}", "--advice", "--json").out)
    assert (report["ok"], report["problems"], len(report["advice"])) == (True, [], advised)


# ---------------------------------------------------------------- how a run ends


def test_a_run_that_fails_ends_with_1_and_says_where(project: Project) -> None:
    result = project.run("my_agent:failing", "hi")

    assert result.code == 1
    assert "RUN_ERROR          AGENT_ERROR: no luck\n" in result.out
    line = 1 + AGENT.split("\n").index('        raise ValueError("no luck")')
    assert result.err == f"WARNING: ValueError at my_agent.py:{line}, in fail; use --traceback for the full traceback\n"


def test_the_traceback_of_a_run_that_fails(project: Project) -> None:
    result = project.run("my_agent:failing", "hi", "--traceback")

    assert result.code == 1
    assert "Traceback (most recent call last)" in result.err
    assert "in fail\n" in result.err


@pytest.mark.parametrize("command", ["run", "verify", "bench"])
def test_an_agent_that_ends_the_program_is_no_success(project: Project, capsys: Any, command: str) -> None:
    project.write(
        "leaving.py",
        """
        import sys
        from langgraph.graph import START, MessagesState, StateGraph

        async def leave(state):
            sys.exit(0)

        graph = StateGraph(MessagesState).add_node(leave).add_edge(START, "leave").compile()
        """,
    )
    result = run_main(capsys, command, "leaving:graph", "hi")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "the agent ended the program: SystemExit: 0 (leaving.py:6, in leave)" in result.err


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


def test_steps_are_shown_on_request(project: Project) -> None:
    hidden = project.run("my_agent:echoing", "hi").out.splitlines()
    shown = project.run("my_agent:echoing", "hi", "--steps").out.splitlines()

    assert "TEXT_MESSAGE       None: hi" in hidden
    assert hidden[-1].endswith("; --steps shows 1 step")
    at = shown.index("STEP_STARTED       ┌ work")
    assert shown[at : at + 3] == ["STEP_STARTED       ┌ work", "TEXT_MESSAGE       │ None: hi", "STEP_FINISHED      └"]
    assert "--steps" not in shown[-1]


def test_answers_that_nothing_asked_for_are_warned_about(project: Project) -> None:
    result = project.run("my_agent:echoing", "hi", "--answer", "yes")

    assert "WARNING: --answer: nothing asked for 'yes'\n" in result.err
