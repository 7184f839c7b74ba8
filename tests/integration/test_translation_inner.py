# ruff: noqa: E501
"""Models, tools and graphs inside tools and nodes; structured output; tools that the provider runs."""

from __future__ import annotations

from typing import Any

import pytest
from inline_snapshot import snapshot
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from pydantic import BaseModel

from tests.support.graphs import Graph, chat, chat_node, in_a_row, scripted, tool_loop, turns
from tests.support.playing import Player
from yai_nexus_agentkit.testing import text_part, tool_call_parts, tool_calls_part


class Weather(BaseModel):
    """The weather."""

    city: str
    degrees: int


class Report(MessagesState):
    report: dict[str, Any]


def ask(name: str, **args: Any) -> Any:
    return tool_calls_part((name, args, "call_1"))


async def test_a_tool_that_runs_a_graph_is_a_subagent(play: Player) -> None:
    def build() -> Graph:
        @tool
        async def lookup(q: str) -> str:
            """Look up."""
            return f"{q} found"

        expert = create_agent(
            scripted(["Hm, ", tool_calls_part(("lookup", {"q": "x"}, "call_1"))], ["Expert ", "answer."]),
            [lookup],
            name="expert",
        )

        @tool
        async def consult(question: str, config: RunnableConfig) -> str:
            """Consult the expert."""
            result = await expert.ainvoke({"messages": [HumanMessage(question)]}, config)
            return str(result["messages"][-1].text)

        return tool_loop(scripted(ask("consult", question="why?"), "Done."), [consult])

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=consult parentMessageId=lc_run--#1 + "{\\"question\\": \\"why?\\"}" END',
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            "SUBAGENT_STARTED subagentRunId=#2 name=expert parentToolCallId=call_1 parentMessageId=lc_run--#1",
            "STEP_STARTED subagentRunId=#2 stepName=tools/model",
            'TEXT_MESSAGE_START subagentRunId=#2 messageId=lc_run--#3 role=assistant name=expert + "Hm, "',
            'TOOL_CALL_START subagentRunId=#2 toolCallId=call_1-lc_run--#3 toolCallName=lookup parentMessageId=lc_run--#3 + "{\\"q\\": \\"x\\"}" END',
            "TEXT_MESSAGE_END subagentRunId=#2 messageId=lc_run--#3",
            "STEP_FINISHED subagentRunId=#2 stepName=tools/model",
            "STEP_STARTED subagentRunId=#2 stepName=tools/tools",
            'TOOL_CALL_RESULT subagentRunId=#2 messageId=tool-#4 toolCallId=call_1-lc_run--#3 content="x found" role=tool',
            "STEP_FINISHED subagentRunId=#2 stepName=tools/tools",
            "STEP_STARTED subagentRunId=#2 stepName=tools/model",
            'TEXT_MESSAGE_START subagentRunId=#2 messageId=lc_run--#5 role=assistant name=expert + "Expert " + answer. END',
            "STEP_FINISHED subagentRunId=#2 stepName=tools/model",
            "SUBAGENT_FINISHED subagentRunId=#2",
            'TOOL_CALL_RESULT messageId=tool-#6 toolCallId=call_1 content="Expert answer." role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#7 role=assistant + Done. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_two_subagents_at_once(play: Player) -> None:
    def build() -> Graph:
        def expert(name: str, pause: int) -> Any:
            return in_a_row(
                {"answer": chat_node(scripted([*turns(pause), f"{name} says ", *turns(100), "yes."]))},
                checkpointer=None,
            ).with_config(run_name=name)

        experts = {"ann": expert("ann", 0), "bob": expert("bob", 50)}

        @tool
        async def consult(name: str, config: RunnableConfig) -> str:
            """Consult an expert."""
            result = await experts[name].ainvoke({"messages": [HumanMessage("?")]}, config)
            return str(result["messages"][-1].text)

        calls = tool_calls_part(("consult", {"name": "ann"}, "call_1"), ("consult", {"name": "bob"}, "call_2"))
        return tool_loop(scripted(calls, "Done."), [consult])

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=consult parentMessageId=lc_run--#1 + "{\\"name\\": \\"ann\\"}"',
            'TOOL_CALL_START toolCallId=call_2 toolCallName=consult parentMessageId=lc_run--#1 + "{\\"name\\": \\"bob\\"}"',
            "TOOL_CALL_END toolCallId=call_1",
            "TOOL_CALL_END toolCallId=call_2",
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            "SUBAGENT_STARTED subagentRunId=#2 name=ann parentToolCallId=call_1 parentMessageId=lc_run--#1",
            "STEP_STARTED subagentRunId=#2 stepName=tools/answer",
            "SUBAGENT_STARTED subagentRunId=#3 name=bob parentToolCallId=call_2 parentMessageId=lc_run--#1",
            "STEP_STARTED subagentRunId=#3 stepName=tools/answer#2",
            'TEXT_MESSAGE_START subagentRunId=#2 messageId=lc_run--#4 role=assistant + "ann says "',
            'TEXT_MESSAGE_START subagentRunId=#3 messageId=lc_run--#5 role=assistant + "bob says "',
            "TEXT_MESSAGE_CONTENT subagentRunId=#2 messageId=lc_run--#4 delta=yes. END",
            "STEP_FINISHED subagentRunId=#2 stepName=tools/answer",
            "SUBAGENT_FINISHED subagentRunId=#2",
            'TOOL_CALL_RESULT messageId=tool-#6 toolCallId=call_1 content="ann says yes." role=tool',
            "TEXT_MESSAGE_CONTENT subagentRunId=#3 messageId=lc_run--#5 delta=yes. END",
            "STEP_FINISHED subagentRunId=#3 stepName=tools/answer#2",
            "SUBAGENT_FINISHED subagentRunId=#3",
            'TOOL_CALL_RESULT messageId=tool-#7 toolCallId=call_2 content="bob says yes." role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#8 role=assistant + Done. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_structured_output_is_not_words(play: Player) -> None:
    def build() -> Graph:
        model = scripted(tool_call_parts("Weather", {"city": "Rome", "degrees": 20}, "call_1"))

        async def extract(state: Report, config: RunnableConfig) -> dict[str, Any]:
            found = await model.with_structured_output(Weather).ainvoke(state["messages"], config)
            return {"report": found.model_dump(), "messages": [AIMessage(f"{found.degrees} degrees.")]}

        return in_a_row({"extract": extract}, Report)

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=extract",
            'TEXT_MESSAGE_START messageId=#1 role=assistant + "20 degrees." END',
            "STEP_FINISHED stepName=extract",
            'STATE_DELTA delta=[(op=add path="/report" value=(city=Rome degrees=20))]',
        ]
    )


async def test_structured_output_as_json_text(play: Player) -> None:
    def build() -> Graph:
        model = scripted(['{"city": "Rome", ', '"degrees": 20}'])
        chain = model.bind(ls_structured_output_format={"kwargs": {"method": "json_mode"}, "schema": {}})

        async def extract(state: Report, config: RunnableConfig) -> dict[str, Any]:
            answer = await chain.ainvoke(state["messages"], config)
            return {"report": Weather.model_validate_json(answer.text).model_dump()}

        return in_a_row({"extract": extract}, Report)

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=extract",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "{\\"city\\": \\"Rome\\", " + "\\"degrees\\": 20}" END',
            "STEP_FINISHED stepName=extract",
            'STATE_DELTA delta=[(op=add path="/report" value=(city=Rome degrees=20))]',
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
        ]
    )


async def test_create_agents_tool_strategy(play: Player) -> None:
    def build() -> Graph:
        model = scripted(tool_call_parts("Weather", {"city": "Rome", "degrees": 20}, "call_1"))
        return create_agent(model, [], response_format=ToolStrategy(Weather), checkpointer=InMemorySaver())

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=model",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=Weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Rome\\"" + ", \\"degrees\\": 20}" END',
            "TOOL_CALL_RESULT messageId=#2 toolCallId=call_1 content=\"Returning structured response: city='Rome' degrees=20\" role=tool",
            "STEP_FINISHED stepName=model",
            'STATE_DELTA delta=[(op=add path="/structured_response" value=(city=Rome degrees=20))]',
        ]
    )


async def test_create_agents_tool_strategy_after_a_wrong_try(play: Player) -> None:
    def build() -> Graph:
        wrong = tool_call_parts("Weather", {"city": "Rome", "degrees": "warm"}, "call_1")
        right = tool_call_parts("Weather", {"city": "Rome", "degrees": 20}, "call_2")
        model = scripted(wrong, right)
        return create_agent(
            model, [], response_format=ToolStrategy(Weather, handle_errors="Try again."), checkpointer=InMemorySaver()
        )

    played = await play(build)

    # langchain 1.3 does not write the response that is missing yet
    assert [line for line in played.stream if "value=null" not in line] == snapshot(
        [
            "STEP_STARTED stepName=model",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=Weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Rome\\", " + "\\"degrees\\": \\"warm\\"}" END',
            'TOOL_CALL_RESULT messageId=#2 toolCallId=call_1 content="Try again." role=tool',
            "STEP_FINISHED stepName=model",
            "STEP_STARTED stepName=model",
            'TOOL_CALL_START toolCallId=call_2 toolCallName=Weather parentMessageId=lc_run--#3 + "{\\"city\\": \\"Rome\\"" + ", \\"degrees\\": 20}" END',
            "TOOL_CALL_RESULT messageId=#4 toolCallId=call_2 content=\"Returning structured response: city='Rome' degrees=20\" role=tool",
            "STEP_FINISHED stepName=model",
            'STATE_DELTA delta=[(op=add path="/structured_response" value=(city=Rome degrees=20))]',
        ]
    )


async def test_create_agents_provider_strategy(play: Player) -> None:
    def build() -> Graph:
        model = scripted(['{"city":"Rome",', '"degrees":20}'])
        return create_agent(model, [], response_format=ProviderStrategy(Weather), checkpointer=InMemorySaver())

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=model",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "{\\"city\\":\\"Rome\\"," + "\\"degrees\\":20}" END',
            "STEP_FINISHED stepName=model",
            'STATE_DELTA delta=[(op=add path="/structured_response" value=(city=Rome degrees=20))]',
        ]
    )


def block(**fields: Any) -> AIMessageChunk:
    return AIMessageChunk(content=[fields])


async def test_anthropics_server_tools(play: Player) -> None:
    found = [{"type": "web_search_result", "url": "https://a.b", "title": "A"}]
    parts = [
        text_part("Searching. "),
        block(type="server_tool_use", id="srvtoolu_1", name="web_search", input={}, index=1),
        block(type="input_json_delta", partial_json='{"query": "rome"}', index=1),
        block(type="web_search_tool_result", tool_use_id="srvtoolu_1", content=found, index=2),
        text_part("It is ", index=3),
        block(type="text", citations=[{"url": "https://a.b"}], index=3),
        text_part("sunny.", index=3),
    ]
    played = await play(lambda: chat(scripted(parts, provider="anthropic")))

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chat",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Searching. "',
            'TOOL_CALL_START toolCallId=srvtoolu_1 toolCallName=web_search parentMessageId=lc_run--#1 metadata=(langgraph=(executor=provider form=server_tool_use at=[11 0] provider=anthropic)) + "{\\"query\\": \\"rome\\"}" END',
            'TOOL_CALL_RESULT messageId=lc_run--#1-provider-0 toolCallId=srvtoolu_1 content="[{\\"type\\":\\"web_search_result\\",\\"url\\":\\"https://a.b\\",\\"title\\":\\"A\\"}]" role=tool metadata=(langgraph=(executor=provider form=web_search_tool_result at=[11 1]))',
            'TEXT_MESSAGE_CONTENT messageId=lc_run--#1 delta="It is " + sunny.',
            "TEXT_MESSAGE_END messageId=lc_run--#1 metadata=(langgraph=(citations=[(url=https://a.b start_index=11 end_index=23)]))",
            "ACTIVITY_SNAPSHOT messageId=lc_run--#1-citations activityType=citations content=(messageId=lc_run--#1 citations=[(url=https://a.b start_index=11 end_index=23)])",
            "STEP_FINISHED stepName=chat",
        ]
    )


async def test_openais_server_tools(play: Player) -> None:
    parts = [
        block(type="web_search_call", id="ws_1", status="completed", action={"type": "search", "query": "q"}, index=0),
        text_part("Sunny.", index=1, annotations=[{"type": "url_citation", "url": "https://a.b"}]),
        block(type="refusal", refusal="no", index=2),
    ]
    played = await play(lambda: chat(scripted(parts, provider="openai")))

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chat",
            'TOOL_CALL_START toolCallId=ws_1 toolCallName=web_search parentMessageId=lc_run--#1 metadata=(langgraph=(executor=provider form=web_search_call at=[0 0] provider=openai block=(status=completed))) + "{\\"type\\":\\"search\\",\\"query\\":\\"q\\"}" END',
            "TOOL_CALL_RESULT messageId=lc_run--#1-provider-0 toolCallId=ws_1 content=completed role=tool metadata=(langgraph=(executor=provider form=web_search_call at=[0 1] text=true block=(stands_in=true)))",
            "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Sunny. + no",
            "TEXT_MESSAGE_END messageId=lc_run--#1 metadata=(langgraph=(incomplete=refusal citations=[(url=https://a.b start_index=0 end_index=6)]))",
            "ACTIVITY_SNAPSHOT messageId=lc_run--#1-citations activityType=citations content=(messageId=lc_run--#1 citations=[(url=https://a.b start_index=0 end_index=6)])",
            "STEP_FINISHED stepName=chat",
            "RUN_FINISHED metadata=(langgraph=(incomplete=refusal))",
        ]
    )


async def test_server_tools_beside_the_applications_own(play: Player) -> None:
    @tool
    async def weather(city: str) -> str:
        """Weather."""
        return f"sun in {city}"

    def build() -> Graph:
        parts = [
            block(type="server_tool_use", id="srvtoolu_1", name="web_search", input={}, index=0),
            block(type="web_search_tool_result", tool_use_id="srvtoolu_1", content=[], index=1),
            *tool_call_parts("weather", {"city": "Rome"}, "toolu_1", index=2),
        ]
        return tool_loop(scripted(parts, [text_part("Sun.")], provider="anthropic"), [weather])

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=srvtoolu_1 toolCallName=web_search parentMessageId=lc_run--#1 metadata=(langgraph=(executor=provider form=server_tool_use at=[0 0] provider=anthropic)) + "{}" END',
            'TOOL_CALL_RESULT messageId=lc_run--#1-provider-0 toolCallId=srvtoolu_1 content="[]" role=tool metadata=(langgraph=(executor=provider form=web_search_tool_result at=[0 1]))',
            'TOOL_CALL_START toolCallId=toolu_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Rome\\"}" END',
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=toolu_1 content="sun in Rome" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Sun. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_a_chain_of_prompt_model_and_parser(play: Player) -> None:
    def build() -> Graph:
        chain = (
            ChatPromptTemplate.from_messages([("human", "{text}")]) | scripted(["Hello ", "there"]) | StrOutputParser()
        )

        async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            return {"messages": [AIMessage(await chain.ainvoke({"text": "hi"}, config))]}

        return in_a_row({"node": node})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=node",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Hello " + there END',
            "STEP_FINISHED stepName=node",
        ]
    )


async def test_a_chain_as_a_node(play: Player) -> None:
    def build() -> Graph:
        model = scripted(["Hello ", "there"])
        chain = RunnableLambda(lambda state: state["messages"]) | model | RunnableLambda(lambda m: {"messages": [m]})
        return in_a_row({"chain": chain})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chain",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Hello " + there END',
            "STEP_FINISHED stepName=chain",
        ]
    )


async def test_a_model_as_a_node_of_its_own(play: Player) -> None:
    def build() -> Graph:
        model = scripted(["Hello ", "there"])
        return in_a_row({"model": (lambda state: state["messages"]) | model | (lambda m: {"messages": m})})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=model",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Hello " + there END',
            "STEP_FINISHED stepName=model",
        ]
    )


async def test_a_hidden_models_call_is_announced_when_its_tool_runs(play: Player) -> None:
    @tool
    async def weather(city: str) -> str:
        """Weather."""
        return f"sun in {city}"

    def build() -> Graph:
        silent = scripted(tool_call_parts("weather", {"city": "Rome"}, "call_1"), "Sun.").with_config(tags=["nostream"])
        return tool_loop(silent, [weather])

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent FINISHED",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=lc_run--#1 toolCalls=[(id=call_1 type=function function=(name=weather arguments="{\\"city\\":\\"Rome\\"}"))]',
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="sun in Rome" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent FINISHED",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=lc_run--#1 toolCalls=[(id=call_1 type=function function=(name=weather arguments="{\\"city\\":\\"Rome\\"}"))]',
            '  tool id=tool-#2 content="sun in Rome" toolCallId=call_1',
            "  assistant id=lc_run--#3 content=Sun.",
        ]
    )


@pytest.mark.parametrize("passed", ["config", "context"])
async def test_a_model_inside_a_tool_is_silent(play: Player, passed: str) -> None:
    def build() -> Graph:
        helper = scripted(["short ", "summary"])

        @tool
        async def with_config(text: str, config: RunnableConfig) -> str:
            """Summarize, and hand the configuration on."""
            return str((await helper.ainvoke(text, config)).text)

        @tool
        async def with_context(text: str) -> str:
            """Summarize."""
            return str((await helper.ainvoke(text)).text)

        tools = {"config": with_config, "context": with_context}
        tools[passed].name = "summarize"
        return tool_loop(scripted(["I will. ", ask("summarize", text="long")], "Done."), [tools[passed]])

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "I will. "',
            'TOOL_CALL_START toolCallId=call_1 toolCallName=summarize parentMessageId=lc_run--#1 + "{\\"text\\": \\"long\\"}" END',
            "TEXT_MESSAGE_END messageId=lc_run--#1",
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="short summary" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Done. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


@pytest.mark.parametrize("passed", ["config", "context"])
async def test_a_sync_tool_with_a_model_that_calls_tools_is_silent(play: Player, passed: str) -> None:
    def build() -> Graph:
        helper = scripted(["Hm. ", *tool_call_parts("search", {"q": "x"}, "call_1")])

        @tool
        def with_config(text: str, config: RunnableConfig) -> str:
            """Plan, and hand the configuration on."""
            return f"would call {helper.invoke(text, config).tool_calls[0]['name']}"

        @tool
        def with_context(text: str) -> str:
            """Plan."""
            return f"would call {helper.invoke(text).tool_calls[0]['name']}"

        tools = {"config": with_config, "context": with_context}
        tools[passed].name = "plan"
        return tool_loop(scripted(ask("plan", text="long"), "Done."), [tools[passed]])

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=plan parentMessageId=lc_run--#1 + "{\\"text\\": \\"long\\"}" END',
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="would call search" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Done. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_a_tool_that_calls_another_tool(play: Player) -> None:
    @tool
    async def inner(n: int) -> int:
        """Double."""
        return 2 * n

    @tool
    async def outer(n: int, config: RunnableConfig) -> str:
        """Twice."""
        plain = await inner.ainvoke({"n": n}, config)
        call = {"name": "inner", "args": {"n": plain}, "id": "inner_1", "type": "tool_call"}
        called = await inner.ainvoke(call, config)
        return f"{n} → {called.content}"

    played = await play(lambda: tool_loop(scripted(ask("outer", n=1), "Done."), [outer]))

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=outer parentMessageId=lc_run--#1 + "{\\"n\\": 1}" END',
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="1 → 4" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Done. END",
            "STEP_FINISHED stepName=agent",
        ]
    )
