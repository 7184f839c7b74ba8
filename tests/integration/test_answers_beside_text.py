"""Answers beside their text: media, citations, tools that the provider runs, the reason of their end.

`play` compares what each client shows with what the thread holds, activities of answers included.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import PIIMiddleware
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.types import interrupt

from tests.support.graphs import Graph, chat, in_a_row, scripted, tool_loop
from tests.support.people import PEERS, Tab
from tests.support.playing import Player
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, EventEmitter, Hooks, RunContext
from yai_nexus_agentkit.orchestration.approvals import require_approval
from yai_nexus_agentkit.testing import collect, run_input, text_part, tool_call_parts, tool_calls_part, wire

PICTURE = {"type": "image", "base64": "aGVsbG8=", "mime_type": "image/png"}
SHOWN = {"type": "image", "source": {"type": "data", "value": "aGVsbG8=", "mimeType": "image/png"}}
SITE = {"type": "web_search_result_location", "url": "https://a.b", "title": "A", "cited_text": "sunny"}


def block(**fields: Any) -> AIMessageChunk:
    return AIMessageChunk(content=[fields])


def picture(base64: str = "aGVsbG8=", **fields: Any) -> AIMessageChunk:
    return block(**{**PICTURE, "base64": base64, **fields})


def use(id: str, query: str = "q", *, index: int = 0) -> list[AIMessageChunk]:
    """A call of Anthropic's web search."""
    begin = block(type="server_tool_use", id=id, name="web_search", input={}, index=index)
    return [begin, block(type="input_json_delta", partial_json=json.dumps({"query": query}), index=index)]


def found(id: str, url: str = "https://a.b", *, index: int = 1) -> AIMessageChunk:
    """Its result."""
    content = [{"type": "web_search_result", "url": url, "title": "A"}]
    return block(type="web_search_tool_result", tool_use_id=id, content=content, index=index)


def ended(reason: str, **metadata: Any) -> AIMessageChunk:
    return AIMessageChunk(content="", response_metadata={"finish_reason": reason, **metadata})


def activities(messages: Sequence[Mapping[str, Any]], type: str) -> list[Any]:
    return [m["content"] for m in messages if m["role"] == "activity" and m["activityType"] == type]


def facts(entity: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata: Mapping[str, Any] = (entity.get("metadata") or {}).get("langgraph", {})
    return metadata


SOUND = {"id": "audio_1", "data": "UklGRg==", "transcript": "Hello."}
ANSWERS: dict[str, tuple[list[Any], str | None, list[Any]]] = {
    "two pictures": (["Here: ", picture(), "and ", picture("d29ybGQ=")], "Here: and ", ["aGVsbG8=", "d29ybGQ="]),
    "a picture first": ([picture(), "A cat."], "A cat.", ["aGVsbG8="]),
    "nothing but a picture": ([picture()], None, ["aGVsbG8="]),
    "a picture behind reasoning": (
        [block(type="thinking", thinking="Draw."), picture(index=1)],
        None,
        ["aGVsbG8="],
    ),
    "an address": (["See ", block(type="image", url="https://a.b/c.png")], "See ", ["https://a.b/c.png"]),
    "a provider's file": ([block(type="file", file_id="file-1", mime_type="application/pdf")], None, ["file-1"]),
    "a document": ([block(type="file", base64="JVBERi0=", mime_type="application/pdf")], None, ["JVBERi0="]),
    "a video": ([block(type="video", url="https://a.b/c.mp4")], None, ["https://a.b/c.mp4"]),
    "sound with a transcript": ([AIMessage("", additional_kwargs={"audio": SOUND})], "Hello.", ["UklGRg=="]),
    "sound as bytes": ([AIMessage("", additional_kwargs={"audio": b"RIFF"})], None, ["UklGRg=="]),
    "OpenAI's picture of v0": (
        [
            AIMessageChunk(
                "", additional_kwargs={"tool_outputs": [{"type": "image_generation_call", "result": "aGVsbG8="}]}
            )
        ],
        None,
        ["aGVsbG8="],
    ),
}


@pytest.mark.parametrize("case", ANSWERS)
async def test_media_are_an_activity_of_the_answer(play: Player, case: str) -> None:
    parts, text, media = ANSWERS[case]

    def build() -> Graph:
        first = parts[0] if type(parts[0]) is AIMessage else parts
        return chat(scripted(first, ["Thanks."], ids="all"), checkpointer=InMemorySaver())

    played = await play(build, "hi", "nice")

    for messages in (view["messages"] for view in played.views):
        [content] = activities(messages, "media")
        assert [part["source"]["value"] for part in content["parts"]] == media
        answers = [m for m in messages if m["role"] == "assistant"]
        assert [m["content"] for m in answers][:1] == ([text] if text else [m["content"] for m in answers][:1])
        if text:
            assert content["messageId"] == answers[0]["id"]
    assert len([m for m in played.messages if m["role"] == "assistant"]) == (2 if text else 1)


async def test_tools_of_the_provider_side_by_side(play: Player) -> None:
    parts = [*use("s1", "rome"), *use("s2", "oslo", index=1), found("s2", "https://o", index=2), found("s1", index=3)]
    played = await play(lambda: chat(scripted([*parts, "Sunny."], provider="anthropic")))

    calls = [c for m in played.messages for c in m.get("toolCalls") or ()]
    results = {m["toolCallId"]: m for m in played.messages if m["role"] == "tool"}
    assert [json.loads(c["function"]["arguments"]) for c in calls] == [{"query": "rome"}, {"query": "oslo"}]
    assert [json.loads(results[c["id"]]["content"])[0]["url"] for c in calls] == ["https://a.b", "https://o"]
    assert {facts(one)["executor"] for one in (*calls, *results.values())} == {"provider"}


@pytest.mark.parametrize("memory", [True, False], ids=["thread", "no thread"])
async def test_calls_and_reasoning_go_back_in_their_places(play: Player, memory: bool) -> None:
    """Side by side, between two texts, with reasoning before each."""
    thought = block(type="thinking", thinking="A", signature="S1", index=0)
    parts = [
        thought,
        text_part("One.", index=1),
        *use("s1", index=2),
        *use("s2", index=3),
        found("s1", index=4),
        found("s2", index=5),
        block(type="thinking", thinking="B", signature="S2", index=6),
        text_part("Two.", index=7),
    ]
    seen: list[Any] = []

    def build() -> Graph:
        model = scripted(parts, ["Yes."], provider="anthropic")
        seen.append(model)
        return chat(model, checkpointer=InMemorySaver() if memory else None)

    played = await play(build, "hi", "sure?")

    assert [m["content"] for m in played.messages if m["role"] == "assistant"] == ["One.\n\nTwo.", "Yes."]
    for model in seen:
        answer = model.calls[1][1]
        kinds = [one["type"] for one in answer.content]
        uses, results = ["server_tool_use"] * 2, ["web_search_tool_result"] * 2
        assert kinds == ["thinking", "text", *uses, *results, "thinking", "text"]
        assert [
            one.get("text", one.get("thinking")) for one in answer.content if "text" in one or "thinking" in one
        ] == [
            "A",
            "One.",
            "B",
            "Two.",
        ]
        assert [one["tool_use_id"] for one in answer.content[4:6]] == ["s1", "s2"]


async def test_a_call_without_result_is_not_open(play: Player) -> None:
    """The provider paused, or the answer was cut."""
    played = await play(lambda: chat(scripted([*use("s1"), ended("pause_turn")], provider="anthropic")))

    assert "outcome" not in played.events[-1]
    [result] = [m for m in played.messages if m["role"] == "tool"]
    assert (result["content"], facts(result)) == ("", {"executor": "provider", "status": "incomplete"})
    assert facts(played.events[-1]) == {"finish_reason": "pause_turn", "incomplete": "pause"}


async def test_a_model_that_fails_in_a_search(play: Player) -> None:
    def build() -> Graph:
        return chat(scripted(["Let me ", *use("s1"), ConnectionError("lost")]))

    played = await play(build, in_step=False)
    assert [e["type"] for e in played.events if e["type"].startswith("TOOL_CALL")][-2:] == [
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
    ]
    assert played.events[-1]["type"] == "RUN_ERROR"


async def test_a_tool_of_the_provider_that_is_new(play: Player) -> None:
    """Its call has Anthropic's form, and the type of its result the usual end."""
    parts = [
        block(type="server_tool_use", id="n1", name="navigate", input={"to": "Rome"}, index=0),
        block(type="navigate_tool_result", tool_use_id="n1", content={"km": 3}, index=1),
        text_part("3 km.", index=2),
    ]
    played = await play(lambda: chat(scripted(parts, ["Yes."], provider="anthropic")), "hi", "sure?")

    [result] = [m for m in played.messages if m["role"] == "tool"]
    assert (json.loads(result["content"]), facts(result)["form"]) == ({"km": 3}, "navigate_tool_result")


async def test_a_failed_search(play: Player) -> None:
    error = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    result = block(type="web_search_tool_result", tool_use_id="s1", content=error, index=1)
    played = await play(lambda: chat(scripted([*use("s1"), result, "Sorry."])))

    [shown] = [m for m in played.messages if m["role"] == "tool"]
    assert json.loads(shown["content"]) == error
    assert facts(shown)["status"] == "error"


async def test_citations_of_several_texts(play: Player) -> None:
    other = {**SITE, "url": "https://o", "title": "O"}
    parts = [
        text_part("Rome: ", index=0),
        text_part("sunny", index=1),
        block(type="text", citations=[SITE], index=1),
        text_part(" and Oslo: ", index=2),
        text_part("snow", index=3),
        block(type="text", citations=[SITE, other], index=3),
        text_part("\U0001f600.", index=4),
    ]
    played = await play(lambda: chat(scripted(parts), checkpointer=InMemorySaver()))

    [answer] = [m for m in played.messages if m["role"] == "assistant"]
    cited = facts(answer)["citations"]
    assert [(one["url"], answer["content"][one["start_index"] : one["end_index"]]) for one in cited] == [
        ("https://a.b", "sunny"),
        ("https://a.b", "snow"),
        ("https://o", "snow"),
    ]
    assert activities(played.messages, "citations") == [{"messageId": answer["id"], "citations": cited}]


@pytest.mark.parametrize(
    ("extra", "urls"),
    [
        ({"citations": ["https://a.b", "https://c.d"]}, ["https://a.b", "https://c.d"]),
        ({"citations": ["https://a.b"], "search_results": [{"title": "A", "url": "https://a.b"}]}, ["https://a.b"]),
        ({"citations": [{"odd": 1}, 5, None]}, []),
    ],
)
async def test_sources_beside_the_content(play: Player, extra: Any, urls: list[str]) -> None:
    played = await play(lambda: chat(scripted(AIMessage("Sunny.", additional_kwargs=extra))))

    [answer] = [m for m in played.messages if m["role"] == "assistant"]
    assert [one["url"] for one in facts(answer).get("citations", [])] == urls
    assert len(activities(played.messages, "citations")) == bool(urls)


# ---------------------------------------------------------------------- how answers end

ENDS = {
    "stop": None,
    "STOP": None,
    "tool_calls": None,
    "end_turn": None,
    "a new word": None,
    "length": "length",
    "lengthlength": "length",  # a server that sends it twice
    "MAX_TOKENS": "length",
    "content_filter": "filter",
    "PROHIBITED_CONTENT": "filter",
    "guardrail_intervened": "filter",
    "refusal": "refusal",
    "MALFORMED_FUNCTION_CALL": "error",
}


@pytest.mark.parametrize("reason", ENDS)
@pytest.mark.parametrize("text", ["Half an", ""])
async def test_how_an_answer_ended(play: Player, reason: str, text: str) -> None:
    played = await play(
        lambda: chat(scripted([*([text] if text else []), ended(reason)]), checkpointer=InMemorySaver())
    )

    kind, own = ENDS[reason], reason.replace("lengthlength", "length")
    wanted = {"finish_reason": own, **({"incomplete": kind} if kind else {})}
    assert [facts(m) for m in played.messages if m["role"] == "assistant"] == ([wanted] if text else [])
    assert facts(played.events[-1]) == (wanted if kind else {})


async def test_the_end_event_speaks_of_answers_that_nothing_followed(play: Player) -> None:
    def build(*names: str) -> Graph:
        return in_a_row({name: answering([name, ended(name)]) for name in names})

    assert facts((await play(lambda: build("length", "stop"))).events[-1]) == {}
    assert facts((await play(lambda: build("stop", "length"))).events[-1])["incomplete"] == "length"


def answering(*answers: Any) -> Callable[..., Any]:
    """A node that asks a model with these answers."""
    model = scripted(*answers)

    async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"], config)]}

    return node


async def test_a_cut_answer_before_a_question(play: Player) -> None:
    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(str(interrupt("Go on?")), id="said")]}

    def build() -> Graph:
        return in_a_row({"model": answering(["Half", ended("length")]), "ask": ask}, checkpointer=InMemorySaver())

    def yes(view: Any) -> dict[str, Any]:
        return {"resume": [{"interruptId": view["interrupts"][0]["id"], "status": "resolved", "payload": "yes"}]}

    played = await play(build, "hi", yes)
    assert facts(played.runs[0]["events"][-1])["incomplete"] == "length"
    assert facts(played.runs[1]["events"][-1]) == {}


# ---------------------------------------------------------------------- where nothing may be shown


@pytest.mark.parametrize("way", ["nostream", "visible", "emit flags"])
async def test_hidden_models_show_nothing(play: Player, way: str) -> None:
    parts = ["Secret", picture(), *use("s1"), found("s1"), block(type="text", citations=[SITE]), ended("length")]
    hidden: Any = {
        "nostream": {"tags": ["nostream"]},
        "visible": {},
        "emit flags": {"metadata": {"emit-messages": False, "emit-tool-calls": False}},
    }[way]

    def build() -> Graph:
        model = scripted(parts)

        async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            await model.with_config(hidden).ainvoke(state["messages"], config)
            return {"messages": [AIMessage("Shown.", id="shown")]}

        return in_a_row({"node": node})

    options = AdapterOptions(visible=lambda run: run.kind.value != "model") if way == "visible" else None
    played = await play(build, options=options)

    text = json.dumps(played.events)
    assert "Secret" not in text
    assert "aGVsbG8=" not in text
    assert "https://a.b" not in text
    assert "TOOL_CALL" not in text


async def test_subgraphs_and_subagents(play: Player) -> None:
    parts = [*use("s1"), found("s1"), text_part("Sunny.", index=2), picture(index=3), ended("length")]

    def build() -> Graph:
        inner = chat(scripted(parts))
        return in_a_row({"inner": inner}, checkpointer=InMemorySaver())

    played = await play(build)
    assert len(activities(played.messages, "media")) == 1
    assert facts(played.events[-1])["incomplete"] == "length"

    def host() -> Graph:
        agent = chat(scripted(parts))

        @tool
        async def consult(config: RunnableConfig) -> str:
            """Consult."""
            result = await agent.ainvoke({"messages": [HumanMessage("why?")]}, config)
            return str(result["messages"][-1].text)

        model = scripted(tool_calls_part(("consult", {}, "call_1")), "Done.", "Welcome.")
        return tool_loop(model, [consult])

    always = AdapterOptions(messages_snapshot="always")
    played = await play(host, "hi", "thanks", options=always, same=False)  # peers get their activities in other events
    for messages in (view["messages"] for view in played.views):
        foreign = [m for m in messages if m.get("subagentRunId")]
        assert {m["role"] for m in foreign} == {"assistant", "tool", "activity"}
        assert activities(foreign, "media")[0]["parts"] == [SHOWN]
    assert "metadata" not in played.runs[0]["events"][-1], "a subagent's answer is not the run's"


# ---------------------------------------------------------------------- snapshots, reloads, hooks


def _shopping() -> Graph:
    parts = [
        "Look: ",
        *use("s1"),
        found("s1"),
        text_part("sunny", index=2),
        block(type="text", citations=[SITE], index=2),
        picture(index=3),
        *tool_call_parts("weather", {"city": "Rome"}, "w1", index=4),
        ended("tool_calls"),
    ]

    @tool
    async def weather(city: str) -> str:
        """Weather."""
        return f"sun in {city}"

    model = scripted(parts, ["Sun.", ended("stop")], ["More.", ended("stop")], provider="anthropic", ids="all")
    return tool_loop(model, [weather])


def plain(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message with the arguments of its calls by their value."""
    calls = [
        {**c, "function": {**c["function"], "arguments": json.loads(c["function"]["arguments"])}}
        for c in message.get("toolCalls") or ()
    ]
    return {**message, "toolCalls": calls} if calls else dict(message)


@pytest.mark.parametrize("peer", PEERS.values(), ids=PEERS)
async def test_a_reload_shows_what_the_stream_showed(peer: Any) -> None:
    graph = _shopping()
    tab = Tab(graph, peer)
    await tab.say("hi")
    store: Any = AGUIAdapter(graph).threads()
    run = RunContext(run_input=run_input("", thread_id="thread"), declared=True, hooks=Hooks())
    shown = await store.messages("thread", run)
    stored = [wire(json.loads(m.model_dump_json(by_alias=True))) for m in shown.messages]

    live = [plain(m) for m in tab.messages]
    assert [plain(m) for m in stored] == live

    other = Tab(graph, peer, name="other")  # a page that knows nothing of the thread
    await other.say("more?", in_step=peer.version is not None)  # older clients get activities at the end
    assert [m["role"] for m in other.messages].count("activity") == 2
    for message in live:
        assert message in [plain(m) for m in other.messages]


async def test_activities_of_the_application_outlive_a_snapshot(play: Player) -> None:
    async def plan(state: MessagesState, config: RunnableConfig) -> None:
        EventEmitter(config).activity(f"plan-{len(state['messages'])}", "plan", {"steps": []})

    def build() -> Graph:
        model = answering(["Here: ", picture()], ["And: ", picture()])
        return in_a_row({"plan": plan, "model": model}, checkpointer=InMemorySaver())

    always = AdapterOptions(messages_snapshot="always")
    played = await play(build, "hi", "more", options=always, same=False)  # peers get them in other events

    for messages in (played.messages, play.old.messages):
        kinds = [m["activityType"] for m in messages if m["role"] == "activity"]
        assert sorted(kinds) == ["media", "media", "plan", "plan"]


async def test_pictures_of_removed_answers_go_with_them(play: Player) -> None:
    def trim(state: MessagesState) -> dict[str, Any]:
        answers = [m for m in state["messages"] if m.type == "ai"]
        return {"messages": [RemoveMessage(m.id or "") for m in answers[:-1]]}

    def build() -> Graph:
        model = answering(["One ", picture()], ["Two ", picture("d29ybGQ=")])
        return in_a_row({"model": model, "trim": trim}, checkpointer=InMemorySaver())

    played = await play(build, "hi", "again", in_step=False, same=False)  # older clients cannot remove some of them
    assert [one["parts"][0]["source"]["value"] for one in activities(played.messages, "media")] == ["d29ybGQ="]


async def test_hooks_see_it_all() -> None:
    graph, seen = _shopping(), []

    def on_messages(messages: list[Any], run: Any) -> list[Any]:
        seen.extend(messages)
        return [m for m in messages if m.role != "activity"]

    def on_event(event: Any, run: Any) -> list[Any]:
        return [] if event.type.value == "ACTIVITY_SNAPSHOT" else [event]

    adapter = AGUIAdapter(
        graph,
        hooks=Hooks(on_messages=on_messages, on_event=on_event),
        options=AdapterOptions(messages_snapshot="always"),
    )
    events = await collect(adapter, run_input("hi", thread_id="t"))
    kinds = [m.activity_type for m in seen if m.role == "activity"]
    assert set(kinds) == {"media", "citations"}
    assert any(m.role == "tool" and facts({"metadata": m.metadata}).get("executor") == "provider" for m in seen)
    assert "aGVsbG8=" not in json.dumps(events)


async def test_text_chunks(play: Player) -> None:
    parts = ["Look: ", *use("s1"), found("s1"), "sunny", ended("length")]
    played = await play(
        lambda: chat(scripted(parts), checkpointer=InMemorySaver()),
        options=AdapterOptions(text_chunks=True),
        ignore=["AGUI104"],  # text goes on behind a call, which ends the client's stream of chunks
    )
    [answer] = [m for m in played.messages if m["role"] == "assistant"]
    assert answer["content"] == "Look: sunny"
    assert facts(answer) == {"finish_reason": "length", "incomplete": "length"}


async def test_an_answer_that_no_model_streamed(play: Player) -> None:
    stored = [PICTURE, {"type": "text", "text": "A cat."}, *(one.content[0] for one in (*use("s1"), found("s1")))]

    def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(stored, id="a", response_metadata={"finish_reason": "stop"})]}

    played = await play(lambda: in_a_row({"node": node}, checkpointer=InMemorySaver()))
    [answer] = [m for m in played.messages if m["role"] == "assistant"]
    assert facts(answer) == {"finish_reason": "stop"}
    assert activities(played.messages, "media") == [{"messageId": "a", "parts": [SHOWN]}]


async def test_a_tool_with_the_name_of_the_providers_does_not_run(play: Player) -> None:
    """The provider's call is not the application's: no tool of that name runs, and no question is about it."""

    @tool
    async def web_search(query: str) -> str:
        """Search."""
        raise AssertionError("the provider ran this")

    played = await play(lambda: tool_loop(scripted([*use("s1"), found("s1"), "Sunny."]), [web_search]))
    assert [e["type"] for e in played.events].count("TOOL_CALL_RESULT") == 1


async def test_answers_that_wait(play: Player) -> None:
    """For the middleware behind the model."""
    parts = [
        "Look: ",
        *use("s1"),
        found("s1"),
        text_part("sunny", index=2),
        block(type="text", citations=[SITE], index=2),
        picture(index=3),
        ended("length"),
    ]

    def build() -> Graph:
        return chat(scripted(parts), checkpointer=InMemorySaver())

    played = await play(build, options=AdapterOptions(hold="answer"))
    streamed = await play(build)
    assert {m["role"]: facts(m) for m in played.messages} == {m["role"]: facts(m) for m in streamed.messages}
    assert facts(played.events[-1]) == facts(streamed.events[-1])
    assert activities(played.messages, "media")[0]["parts"] == [SHOWN]


async def test_redaction_reaches_citations() -> None:
    cited = {**SITE, "cited_text": "write to ann@example.com"}
    parts = [text_part("Sunny.", index=0), block(type="text", citations=[cited], index=0)]
    for source in ("events", "callbacks"):
        options = AdapterOptions(source=source, messages_snapshot="always")  # type: ignore[arg-type]
        agent = create_agent(scripted(parts), [], middleware=[PIIMiddleware("email", apply_to_output=True)])
        events = await collect(AGUIAdapter(agent, options=options), run_input("hi"))
        assert "ann@example.com" not in json.dumps(events)
        assert "REDACTED_EMAIL" in json.dumps(events)


async def test_an_answer_to_a_question_beside_a_search(play: Player) -> None:
    @tool
    async def order(what: str) -> str:
        """Order."""
        return f"{what} ordered"

    def build() -> Graph:
        asked = [*use("s1"), found("s1"), *tool_call_parts("order", {"what": "tea"}, "o1", index=2)]
        model = scripted(asked, "Done.", provider="anthropic")
        return tool_loop(model, [require_approval(order)])

    def yes(view: Any) -> dict[str, Any]:
        [question] = view["interrupts"]
        assert question["toolCallId"] == "o1"
        return {"resume": [{"interruptId": question["id"], "status": "resolved", "payload": {"approved": True}}]}

    played = await play(build, "hi", yes)
    assert "TOOL_CALL_START" not in [e["type"] for e in played.events]
    results = {m["toolCallId"]: m["content"] for m in played.messages if m["role"] == "tool"}
    assert results["o1"] == "tea ordered"
    assert json.loads(results["s1"])[0]["url"] == "https://a.b"


async def test_many_and_large_pictures() -> None:
    """No event is longer than a client takes, and each picture is sent once."""
    size = 3 * 1024 * 1024
    answers = [["One ", picture("A" * size), picture("B" * size)], ["Two ", picture("C" * size * 3)], ["Three"]]
    graph = chat(scripted(*answers), checkpointer=InMemorySaver())
    adapter = AGUIAdapter(graph)
    pages = [await collect(adapter, run_input(text, thread_id="t")) for text in ("hi", "more", "and?")]
    for events in pages:
        assert max(len(json.dumps(event)) for event in events) < 10 * 1024 * 1024
        assert events[-1]["type"] == "RUN_FINISHED"
    kinds = [e["type"] for e in pages[2] if e["type"].startswith("ACTIVITY")]
    assert kinds == ["ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "ACTIVITY_SNAPSHOT"]
    last = next(e for e in reversed(pages[2]) if e["type"] == "ACTIVITY_SNAPSHOT")
    assert (last["content"]["parts"], last["content"]["omitted"]) == ([], 1)


async def test_the_picture_of_an_attempt_that_failed(play: Player) -> None:
    def build() -> Graph:
        first = scripted(["One ", picture(), ConnectionError("lost")])
        second = scripted(["Two."])

        async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            model = first.with_fallbacks([second])
            return {"messages": [await model.ainvoke(state["messages"], config)]}

        return in_a_row({"node": node}, checkpointer=InMemorySaver())

    played = await play(build, same=False, in_step=False)
    assert [m["content"] for m in played.messages if m["role"] == "assistant"] == ["Two."]
    assert activities(played.messages, "media") == []
