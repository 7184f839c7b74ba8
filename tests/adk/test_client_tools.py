"""The client's tools: offered for one run, called, answered with the next request."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.agents import Agent
from google.genai import types

from tests.adk.playing import Talk, calling, get_weather, model, of, text_of, weather
from tests.conftest import Judge
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.adapter.adk import AdkSource
from yai_nexus_agentkit.adapter.adk.client_tools import to_schema
from yai_nexus_agentkit.testing import collect, run_input

NUMBER = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
PICK = {"name": "pick", "description": "Let the user pick.", "parameters": NUMBER}
SHOW = {"name": "show", "description": "Show it.", "parameters": {"type": "object", "properties": {}}}


def response_in(request: Any) -> dict[str, Any]:
    return {
        part.function_response.name: part.function_response.response
        for content in request.contents
        for part in content.parts
        if part.function_response
    }


@pytest.mark.parametrize(
    ("content", "response"),
    [
        ('{"picked": 3}', {"picked": 3}),
        ("[1, 2]", {"result": [1, 2]}),
        ("3", {"result": 3}),
        ("three {", {"success": True, "result": "three {"}),
        ("", {"success": True, "result": None}),
    ],
)
async def test_a_call_is_answered_with_the_next_request(judge: Judge, content: str, response: dict[str, Any]) -> None:
    llm = model(["Pick one. ", calling("pick", n=1)], ["Thanks."])
    talk = Talk(AGUIAdapter(Agent(name="root", model=llm)), judge, tools=[PICK])
    events = await talk.say()
    [call] = of(events, "TOOL_CALL_START")
    assert text_of(events) == "Pick one. "
    assert events[-1]["outcome"]["pendingToolCallIds"] == [call["toolCallId"]]

    events = await talk.results({call["toolCallId"]: content})

    assert text_of(events) == "Thanks."
    assert response_in(llm.requests[1]) == {"pick": response}
    [declared] = llm.requests[0].config.tools[0].function_declarations
    assert (declared.name, declared.parameters.properties["n"].type) == ("pick", types.Type.NUMBER)


async def test_the_model_goes_on_when_every_call_is_answered(judge: Judge) -> None:
    llm = model([calling("pick", n=1), calling("show")], ["Both."])
    talk = Talk(AGUIAdapter(Agent(name="root", model=llm)), judge, tools=[PICK, SHOW])
    first, second = (event["toolCallId"] for event in of(await talk.say(), "TOOL_CALL_START"))

    waiting = await talk.results({second: "shown"})
    assert text_of(waiting) == ""
    assert len(llm.requests) == 1

    events = await talk.results({first: "1"})
    assert text_of(events) == "Both."
    assert response_in(llm.requests[1]) == {"pick": {"result": 1}, "show": {"success": True, "result": "shown"}}


async def test_results_and_a_message_go_together(judge: Judge) -> None:
    llm = model([calling("pick", n=1)], ["All right."])
    talk = Talk(AGUIAdapter(Agent(name="root", model=llm)), judge, tools=[PICK])
    [call] = of(await talk.say(), "TOOL_CALL_START")

    events = await talk.results({call["toolCallId"]: "2"}, {"id": "more", "role": "user", "content": "and go on"})

    assert text_of(events) == "All right."
    assert response_in(llm.requests[1]) == {"pick": {"result": 2}}
    assert llm.requests[1].contents[-1].parts[-1].text == "and go on"


async def test_a_tool_of_the_agent_beside_one_of_the_client(judge: Judge) -> None:
    llm = model([calling("get_weather", city="Rome"), calling("pick", n=1)], ["Both."])
    talk = Talk(AGUIAdapter(Agent(name="root", model=llm, tools=[get_weather])), judge, tools=[PICK])
    events = await talk.say()
    calls = {event["toolCallName"]: event["toolCallId"] for event in of(events, "TOOL_CALL_START")}
    assert [event["toolCallId"] for event in of(events, "TOOL_CALL_RESULT")] == [calls["get_weather"]]
    assert events[-1]["outcome"]["pendingToolCallIds"] == [calls["pick"]]

    events = await talk.results({calls["pick"]: "1"})
    assert text_of(events) == "Both."


async def test_names_that_are_taken_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    llm = model([calling("get_weather", city="Rome")], ["21."])
    names = ["get_weather", "transfer_to_agent", "adk_request_confirmation", "pick", "pick"]
    tools = [{**PICK, "name": name} for name in names]
    events = await collect(AGUIAdapter(Agent(name="root", model=llm, tools=[get_weather])), run_input(tools=tools))

    assert text_of(events) == "21."
    declared = [one.name for one in llm.requests[0].config.tools[0].function_declarations]
    assert declared == ["get_weather", "pick"]
    for name in names[:3]:
        assert f"the client's tool '{name}' is left out" in caplog.text


async def test_agents_get_the_tools_that_are_offered_to_them() -> None:
    other = model(["Hello."])
    helper = Agent(name="helper", description="helps", model=other)
    llm = model([calling("transfer_to_agent", agent_name="helper")])
    agent = Agent(name="root", model=llm, sub_agents=[helper])
    source = AdkSource(agent, offers=lambda agent, tool: (agent, tool) == ("helper", "pick"))
    await collect(AGUIAdapter(source), run_input("go", tools=[PICK, SHOW]))
    names = [
        [declared.name for tool in asked.config.tools for declared in tool.function_declarations]
        for asked in (llm.requests[0], other.requests[0])
    ]
    assert names == [["transfer_to_agent"], ["transfer_to_agent", "pick"]]


async def test_tools_are_those_of_the_run_alone(judge: Judge) -> None:
    llm = model(["One."], ["Two."])
    talk = Talk(AGUIAdapter(Agent(name="root", model=llm)), judge)
    await talk.say(tools=[PICK])
    await talk.say(tools=[])
    assert [bool(request.config.tools) for request in llm.requests] == [True, False]


async def test_results_that_nobody_waits_for(judge: Judge) -> None:
    adapter = AGUIAdapter(weather())
    stray = {"id": "r", "role": "tool", "toolCallId": "nobody", "content": "1"}
    events = await collect(adapter, run_input([stray], thread_id="t"))
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "NO_TOOL_RESULTS")

    talk = Talk(adapter, judge)
    await talk.say()
    [call, _] = of(talk.runs[0]["events"], "TOOL_CALL_START")
    late = {"id": "r2", "role": "tool", "toolCallId": call["toolCallId"], "content": "again"}
    events = await collect(adapter, run_input([*talk.messages, late], thread_id="t"))
    assert events[-1]["type"] == "RUN_FINISHED"
    assert text_of(events) == ""


async def test_a_result_for_a_thread_that_the_server_forgot(judge: Judge) -> None:
    llm = model([calling("pick", n=1)], ["Thanks."])
    agent = Agent(name="root", model=llm)
    talk = Talk(AGUIAdapter(agent), judge, tools=[PICK])
    [call] = of(await talk.say(), "TOOL_CALL_START")

    talk.adapter = AGUIAdapter(agent)  # nothing of the thread is stored here
    events = await talk.results({call["toolCallId"]: "4"})

    assert text_of(events) == "Thanks."
    assert response_in(llm.requests[1]) == {"pick": {"result": 4}}


SCHEMAS: dict[str, tuple[Any, dict[str, Any]]] = {
    "types": (
        {"a": {"type": ["string", "null"]}, "b": {"type": ["string", "integer"]}, "c": {"type": "null"}},
        {
            "a": {"nullable": True, "type": "STRING"},
            "b": {"any_of": [{"type": "STRING"}, {"type": "INTEGER"}]},
            "c": {"type": "NULL"},
        },
    ),
    "mapped": (
        {
            "a": {"const": "x"},
            "b": {"type": "string", "examples": ["e", "f"]},
            "c": {"oneOf": [{"type": "string"}, {"type": "number"}]},
            "d": {"allOf": [{"type": "object", "properties": {"k": {"type": "string"}}}, {"required": ["k"]}]},
        },
        {
            "a": {"enum": ["x"], "type": "STRING"},
            "b": {"example": "e", "type": "STRING"},
            "c": {"any_of": [{"type": "STRING"}, {"type": "NUMBER"}]},
            "d": {"type": "OBJECT", "properties": {"k": {"type": "STRING"}}, "required": ["k"]},
        },
    ),
    "left out": (
        {"a": {"type": "string", "$comment": "c", "patternProperties": {}, "additionalProperties": False}},
        {"a": {"type": "STRING"}},
    ),
    "references": (
        {"a": {"$ref": "#/$defs/thing", "description": "own"}, "b": {"$ref": "http://elsewhere"}},
        {"a": {"type": "INTEGER", "minimum": 1.0, "description": "own"}, "b": {}},
    ),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_converted(name: str) -> None:
    given, wanted = SCHEMAS[name]
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": given,
        "$defs": {"thing": {"type": "integer", "minimum": 1}},
    }
    made = to_schema(schema)
    assert made is not None
    assert made.model_dump(exclude_none=True, mode="json")["properties"] == wanted


def test_a_schema_that_refers_to_itself_ends() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    made = to_schema({"type": "object", "properties": {"list": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}})
    assert made is not None
