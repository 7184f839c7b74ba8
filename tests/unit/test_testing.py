"""`yai_nexus_agentkit.testing`: the scripted model in real LangChain runs, the recorder, the assertion."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui.core import BaseEvent, RunAgentInput, RunFinishedEvent, RunStartedEvent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import ConfigurableField
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from yai_nexus_agentkit.testing import (
    ScriptedChatModel,
    ai_message,
    assert_conformant,
    collect,
    conformance_problems,
    interleave,
    reasoning_part,
    record,
    redacted_part,
    run_input,
    text_part,
    tool_call_part,
    tool_call_parts,
    tool_calls_part,
)

USAGE: UsageMetadata = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}


def joined(chunks: list[AIMessageChunk]) -> AIMessageChunk:
    return chunks[0] + chunks[1:]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


# ---------------------------------------------------------------- the model


async def test_texts_are_streamed_as_scripted_sync_and_async() -> None:
    model = ScriptedChatModel(script=lambda _: ["Hel", "lo", " world"])
    chunks = [chunk async for chunk in model.astream("hi")]
    assert [chunk.content for chunk in chunks if chunk.content] == ["Hel", "lo", " world"]
    assert [chunk.content for chunk in model.stream("hi") if chunk.content] == ["Hel", "lo", " world"]
    assert (await model.ainvoke("hi")).content == model.invoke("hi").content == "Hello world"


async def test_a_model_that_cannot_stream_gives_one_message_even_when_streamed() -> None:
    model = ScriptedChatModel(script=lambda _: ["Hello ", "world"], streaming=False)
    for chunks in ([chunk async for chunk in model.astream("hi")], list(model.stream("hi"))):
        assert [chunk.content for chunk in chunks] == ["Hello world"]

    class Plain(BaseChatModel):
        """A model class without any streaming method."""

        @property
        def _llm_type(self) -> str:
            return "plain"

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
            return ChatResult(generations=[ChatGeneration(message=AIMessage("Hello world"))])

    seen = [[event["event"] async for event in m.astream_events("hi", version="v2")] for m in (model, Plain())]
    assert seen[0] == seen[1]


def test_an_argument_that_the_model_does_not_know_is_refused() -> None:
    """LangChain's own are known: it makes a model anew with all that it has."""
    with pytest.raises(TypeError, match="has no argument 'delay'; its own are script, streaming, ids, pause, seed"):
        ScriptedChatModel(script=[], delay=0.1)  # type: ignore[call-arg]
    model = ScriptedChatModel(script=[["a"]], tags=["x"], callbacks=[], disable_streaming=True, rate_limiter=None)
    chosen = model.configurable_fields(pause=ConfigurableField(id="pause")).with_config(configurable={"pause": 0.0})
    assert chosen.invoke("hi").content == "a"


async def test_a_list_script_has_one_entry_per_call_and_says_when_it_ends() -> None:
    model = ScriptedChatModel(script=["one", ["t", "wo"], lambda messages: f"{len(messages)} message"], label="planner")
    assert [(await model.ainvoke("hi")).content for _ in range(3)] == ["one", "two", "1 message"]
    with pytest.raises(AssertionError, match="'planner' got call 4, its script has 3 entries"):
        await model.ainvoke("hi")


async def test_a_function_script_depends_on_the_messages_only() -> None:
    def answer(messages: list[BaseMessage]) -> list[Any]:
        return [f"you said {messages[-1].content}", 0.001]

    model = ScriptedChatModel(script=answer)
    texts = [str(n) for n in range(20)]
    answers = await asyncio.gather(*(model.ainvoke([HumanMessage(text)]) for text in texts))
    assert [message.content for message in answers] == [f"you said {text}" for text in texts]
    assert sorted(str(call[0].content) for call in model.calls) == sorted(texts)


async def test_pauses_do_not_block_the_event_loop() -> None:
    model = ScriptedChatModel(script=lambda _: ["a", 0.2, "b"], pause=0.05)
    started = time.monotonic()
    await asyncio.gather(*(model.ainvoke("hi") for _ in range(10)))
    assert 0.3 <= time.monotonic() - started < 1.5
    started = time.monotonic()
    assert model.invoke("hi").content == "ab"
    assert time.monotonic() - started >= 0.3


async def test_exceptions_are_raised_where_the_script_has_them() -> None:
    model = ScriptedChatModel(script=lambda _: ["partial ", RuntimeError("gone"), "never"])
    got: list[str] = []
    with pytest.raises(RuntimeError, match="gone"):
        async for chunk in model.astream("hi"):
            got.append(str(chunk.content))
    assert got == ["partial "]
    with pytest.raises(RuntimeError, match="gone"):
        model.invoke("hi")


@pytest.mark.parametrize(
    ("ids", "expected"), [("all", ["llm-0"] * 3), ("first", ["llm-0", None, None]), (None, [None] * 3)]
)
async def test_ids_say_which_chunks_the_provider_labels(ids: Any, expected: list[str | None]) -> None:
    model = ScriptedChatModel(script=[["a", "b", "c"]], ids=ids, label="llm")
    chunks = [chunk async for chunk in model.astream("hi") if chunk.content]
    provider_ids = [None if str(chunk.id).startswith("lc_run-") else chunk.id for chunk in chunks]
    assert provider_ids == expected


def test_seeded_chunks_are_repeatable_and_lose_nothing() -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 3

    def chunks(seed: int) -> list[str]:
        model = ScriptedChatModel(script=[[text, *tool_call_parts("add", {"a": 1}, "c1")]], seed=seed)
        return [str(chunk.content) for chunk in model.stream("hi") if chunk.content]

    assert chunks(1) == chunks(1) != chunks(2)
    assert "".join(chunks(1)) == text
    assert {len(piece) for piece in chunks(1)} <= set(range(1, 9))


async def test_usage_and_model_name_arrive_with_every_form_of_answer() -> None:
    for script in (["Hello ", "world"], [AIMessage("Hello world")], [ai_message("", ("add", {"a": 1}, "c1"))], []):
        for streaming in (True, False):
            model = ScriptedChatModel(script=[script], usage=USAGE, model_name="m-1", streaming=streaming)
            message = await model.ainvoke("hi")
            assert (message.usage_metadata, message.response_metadata["model_name"]) == (USAGE, "m-1")


async def test_the_scripts_own_objects_stay_as_they_are() -> None:
    chunk, whole = AIMessageChunk(content="a"), AIMessage("b")
    model = ScriptedChatModel(script=[[chunk], [whole]], ids="all", provider="openai", usage=USAGE)
    for _ in range(2):
        await model.ainvoke("hi")
    assert (chunk, whole) == (AIMessageChunk(content="a"), AIMessage("b"))


async def test_a_whole_message_keeps_its_invalid_calls() -> None:
    broken = {"name": "add", "args": '{"a": ', "id": "c1", "error": "cut off", "type": "invalid_tool_call"}
    whole = AIMessage("hm", invalid_tool_calls=[broken])
    said = await ScriptedChatModel(script=[whole], streaming=False).ainvoke("hi")
    assert said.invalid_tool_calls == [broken]
    streamed = [chunk async for chunk in ScriptedChatModel(script=[whole]).astream("hi")]
    assert streamed[0].tool_call_chunks[0]["args"] == '{"a": '


async def test_calls_and_bound_tools_are_recorded() -> None:
    model = ScriptedChatModel(script=["a", "b", "c"])
    search = {"type": "web_search", "max_uses": 3}
    client_tool = {"type": "function", "function": {"name": "confirm", "description": "ask", "parameters": {}}}
    await model.bind_tools([add, search, client_tool]).ainvoke("first")
    await model.bind_tools([add], tool_choice="any").ainvoke("second")
    await model.ainvoke("third")
    assert [call[0].content for call in model.calls] == ["first", "second", "third"]
    assert model.call_tools == [["add", "web_search", "confirm"], ["add"], []]


# ---------------------------------------------------------------- parts


@pytest.mark.parametrize("ids", ["first", "all", "empty"])
@pytest.mark.parametrize("pieces", [1, 2, 5, 100])
def test_tool_call_parts_join_to_the_call(pieces: int, ids: Any) -> None:
    parts = tool_call_parts("add", {"a": 1, "b": [2, 3]}, "c1", index=2, pieces=pieces, ids=ids)
    call = joined(parts)
    assert (
        call.tool_calls == [{"name": "add", "args": {"a": 1, "b": [2, 3]}, "id": "c1", "type": "tool_call"}]
        or ids == "all"
    )
    assert "".join(part.tool_call_chunks[0]["args"] or "" for part in parts) == '{"a": 1, "b": [2, 3]}'
    assert {part.tool_call_chunks[0]["index"] for part in parts} == {2}
    later = {(part.tool_call_chunks[0]["name"], part.tool_call_chunks[0]["id"]) for part in parts[1:]}
    assert later == {{"first": (None, None), "all": (None, "c1"), "empty": ("", "")}[ids]}


def test_tool_call_parts_send_broken_json_as_it_is() -> None:
    parts = tool_call_parts("add", '{"a": ', "c1", pieces=1)
    assert [part.tool_call_chunks[0]["args"] for part in parts] == ["", '{"a": ']
    assert len(tool_call_parts("now", {}, "c1", pieces=0)) == 1


def test_parallel_calls_arrive_together_or_interleaved() -> None:
    expected = [("add", {"a": 1}, "c1"), ("sub", {"b": 2}, "c2")]
    together = tool_calls_part(*expected)
    apart = interleave(
        tool_call_parts("add", {"a": 1}, "c1"),
        tool_call_parts("sub", {"b": 2}, "c2", index=1),
        [tool_call_part(index=1)],
    )
    for message in (together, joined([part for part in apart if isinstance(part, AIMessageChunk)])):
        assert [(call["name"], call["args"], call["id"]) for call in message.tool_calls] == expected
    assert [part.tool_call_chunks[0]["index"] for part in apart if isinstance(part, AIMessageChunk)][:3] == [0, 1, 1]
    assert interleave() == []


@pytest.mark.parametrize("provider", ["anthropic", "openai", "deepseek", "gemini"])
def test_reasoning_is_what_langchain_reads_as_reasoning(provider: Any) -> None:
    langchain_name = {"gemini": "google_genai"}.get(provider, provider)
    parts = [
        reasoning_part("Let me ", provider=provider, id="rs_1"),
        reasoning_part("think.", provider=provider, id="rs_1"),
    ]
    model = ScriptedChatModel(script=[[*parts, text_part("Done.", index=1)]], provider=langchain_name)
    blocks = model.invoke("hi").content_blocks
    reasoning = "".join(str(block.get("reasoning", "")) for block in blocks if block["type"] == "reasoning")
    assert reasoning == "Let me think."


def test_signatures_and_encrypted_content_have_their_provider() -> None:
    assert reasoning_part(signature="SIG").content == [
        {"type": "thinking", "thinking": "", "index": 0, "signature": "SIG"}
    ]
    assert reasoning_part(provider="openai", id="rs_1", encrypted="ENC").content == [
        {"type": "reasoning", "summary": [], "index": 0, "id": "rs_1", "encrypted_content": "ENC"}
    ]
    assert redacted_part("EMW", index=1).content == [{"type": "redacted_thinking", "data": "EMW", "index": 1}]
    with pytest.raises(ValueError, match="no signature"):
        reasoning_part(provider="deepseek", signature="SIG")
    with pytest.raises(ValueError, match="no encrypted content"):
        reasoning_part(provider="anthropic", encrypted="ENC")


# ---------------------------------------------------------------- in a graph


async def test_the_model_drives_a_real_agent_loop() -> None:
    model = ScriptedChatModel(script=[tool_call_parts("add", {"a": 1, "b": 2}, "c1"), ["It is ", "3."]])

    async def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.bind_tools([add]).ainvoke(state["messages"])]}

    def route(state: MessagesState) -> str:
        return "tools" if getattr(state["messages"][-1], "tool_calls", None) else END

    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode([add]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", route, ["tools", END])
    builder.add_edge("tools", "agent")
    result = await builder.compile().ainvoke({"messages": [HumanMessage("1 + 2?")]})
    assert [message.content for message in result["messages"]] == ["1 + 2?", "", "3", "It is 3."]
    assert [len(call) for call in model.calls] == [1, 3]
    assert model.call_tools == [["add"], ["add"]]


# ---------------------------------------------------------------- runs


class Echo:
    """The smallest agent: a run without content. `finish` replaces fields of its last event."""

    def __init__(self, **finish: Any) -> None:
        self.finish = finish

    async def run(self, run_input: Any, *, config: Any = None) -> AsyncIterator[BaseEvent]:
        given = run_input if isinstance(run_input, RunAgentInput) else RunAgentInput.model_validate(run_input)
        ids: dict[str, Any] = {"thread_id": given.thread_id, "run_id": given.run_id}
        yield RunStartedEvent(**ids, protocol_version="1.0", metadata={"config": config} if config else None)
        yield RunFinishedEvent(**{**ids, **self.finish})


async def test_collect_gives_wire_events_and_passes_arguments_on() -> None:
    events = await collect(Echo(), run_input("hi", thread_id="t", run_id="r"), config={"tags": ["x"]})
    assert events == [
        {
            "type": "RUN_STARTED",
            "threadId": "t",
            "runId": "r",
            "protocolVersion": "1.0",
            "metadata": {"config": {"tags": ["x"]}},
        },
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    ]
    mapping = {
        "threadId": "t2",
        "runId": "r2",
        "state": {},
        "messages": [],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }
    assert (await record(Echo(), mapping))["input"] == mapping


async def test_record_keeps_the_request_so_that_ids_are_checked() -> None:
    run = await record(Echo(run_id="other"), "hello")
    assert run["input"]["messages"][0]["content"] == "hello"
    with pytest.raises(AssertionError, match=r"\[identity\] runId 'other'"):
        assert_conformant(run)
    assert_conformant(run, ignore=["identity"])
    assert_conformant(await record(Echo(), "hello"))


def test_run_input_takes_both_spellings_and_messages() -> None:
    one = run_input("hi", threadId="t", protocol_version=None, state={"a": None})
    assert (one.thread_id, one.protocol_version, one.state) == ("t", None, {"a": None})
    assert "protocolVersion" not in one.model_dump_json(by_alias=True)
    two = run_input([{"id": "u", "role": "user", "content": "a"}, {"id": "a", "role": "assistant", "content": "b"}])
    assert [message.id for message in two.messages] == ["u", "a"]
    assert run_input().run_id != run_input().run_id


def test_assert_conformant_takes_one_run_or_several_and_shows_the_stream() -> None:
    good = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    ]
    assert_conformant(good)
    assert_conformant([good, good])
    assert_conformant([RunStartedEvent.model_validate(good[0]), RunFinishedEvent.model_validate(good[1])])
    assert_conformant('data: {"type":"RUN_ERROR","message":"early"}\n\n')
    with pytest.raises(AssertionError) as failure:
        assert_conformant([good, good[:1]])
    assert str(failure.value).splitlines() == [
        "1 problem(s) in the AG-UI stream:",
        "  run 1 [terminal] no RUN_FINISHED or RUN_ERROR",
        "run 0:",
        '     0 RUN_STARTED {"threadId": "t", "runId": "r", "protocolVersion": "1.0"}',
        '     1 RUN_FINISHED {"threadId": "t", "runId": "r"}',
        "run 1:",
        '     0 RUN_STARTED {"threadId": "t", "runId": "r", "protocolVersion": "1.0"}',
    ]
    with pytest.raises(AssertionError, match="terminal"):
        assert_conformant([])


GOOD: list[Any] = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
]
SSE = "".join(f"data: {json.dumps(event)}\n\n" for event in GOOD)


@pytest.mark.parametrize(
    "runs",
    [
        GOOD,
        tuple(GOOD),
        [GOOD, GOOD],
        [json.dumps(event) for event in GOOD],
        SSE,
        SSE.encode(),
        [SSE, GOOD],
        {"events": SSE},
        [{"events": GOOD, "input": run_input(thread_id="t", run_id="r")}],
    ],
)
def test_runs_are_taken_in_every_form(runs: Any) -> None:
    assert conformance_problems(runs) == []
    assert_conformant(runs)


@pytest.mark.parametrize("judge", [conformance_problems, assert_conformant])
@pytest.mark.parametrize("wrong", [None, 7, [7], [[7]], [GOOD[0], GOOD], GOOD[0], {"events": None}, [None], [GOOD, 7]])
def test_anything_else_is_a_type_error_that_says_what_to_pass(wrong: Any, judge: Any) -> None:
    with pytest.raises(TypeError, match=r"^(a run is a list of events, |an event is a model)"):
        judge(wrong)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"metadata": None}, "metadata: null where the field should be left out"),
        ({"parent": "x"}, "parent: not a field of RunStartedEvent"),
        ({"timestamp": 1.5}, "[timestamp] 1.5"),
        ({"threadId": 7}, "threadId: Input should be a valid string"),
    ],
)
def test_values_that_clients_refuse_or_strip_are_problems(change: dict[str, Any], problem: str) -> None:
    start = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0", **change}
    with pytest.raises(AssertionError) as failure:
        assert_conformant([start, {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}])
    assert problem in str(failure.value)


def test_importing_the_package_does_not_import_testing() -> None:
    code = "import sys, yai_nexus_agentkit; sys.exit(any('yai_nexus_agentkit.testing' in name for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_testing_imports_no_server_no_provider_and_no_validator() -> None:
    unwanted = [
        "ag_ui_validate",
        "fastapi",
        "starlette",
        "uvicorn",
        "langchain_anthropic",
        "langchain_openai",
        "pytest",
    ]
    code = f"import sys, yai_nexus_agentkit.testing; print([name for name in {unwanted} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
