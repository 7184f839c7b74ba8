"""The trace: what people see of each event, at any width, in any order."""

from __future__ import annotations

import re
from collections.abc import Callable
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from yai_nexus_agentkit.cli.chunks import Unchunked
from yai_nexus_agentkit.cli.client import Client
from yai_nexus_agentkit.cli.layout import LABEL_WIDTH, Page, printable, width_of
from yai_nexus_agentkit.cli.trace import Trace

Event = dict[str, Any]


def shown(*events: Event, width: int = 60, colour: bool = False, full: bool = False) -> list[str]:
    feed, page = tracing(width, colour=colour, full=full)
    return ("".join(map(feed, events)) + page.break_line()).splitlines()


def tracing(width: int = 80, *, colour: bool = False, full: bool = False) -> tuple[Callable[[Event], str], Page]:
    """A trace as `run` makes it, and its page."""
    page, client, unchunked = Page(width, colour=colour), Client({}), Unchunked()
    trace = Trace(page, client, full=full, steps=True)

    def feed(event: Event) -> str:
        out = ""
        for single in unchunked.feed(event):
            client.apply(single)
            out += trace.feed(single)
        return out

    return feed, page


def text(message: str, *deltas: str, end: bool = True) -> list[Event]:
    start = {"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant"}
    contents = [{"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": delta} for delta in deltas]
    return [start, *contents, *([{"type": "TEXT_MESSAGE_END", "messageId": message}] if end else [])]


def call(id: str, name: str, arguments: str) -> list[Event]:
    return [
        {"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name},
        {"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": arguments},
        {"type": "TOOL_CALL_END", "toolCallId": id},
    ]


def result(id: str, content: Any, **fields: Any) -> Event:
    return {"type": "TOOL_CALL_RESULT", "messageId": f"r-{id}", "toolCallId": id, "content": content, **fields}


def step(kind: str, name: str, **fields: Any) -> Event:
    return {"type": f"STEP_{kind}", "stepName": name, **fields}


def test_text_is_wrapped_between_words_and_keeps_its_bars() -> None:
    deltas = [" ".join(f"word{n}" for n in range(12)), " end", "ing and a last word\nnew line"]
    events = [step("STARTED", "agent"), *text("m", *deltas), step("FINISHED", "agent")]

    assert shown(*events) == snapshot(
        [
            "STEP_STARTED       ┌ agent",
            "TEXT_MESSAGE       │ word0 word1 word2 word3 word4 word5",
            "                   │ word6 word7 word8 word9 word10 word11 ",
            "                   │ ending and a last word",
            "                   │ new line",
            "STEP_FINISHED      └",
        ]
    )


def test_text_is_streamed_as_it_comes() -> None:
    feed, _ = tracing()
    start, hello, world, end = text("m", "Hello ", "world")

    written = [feed(event) for event in (start, hello, world, end)]

    assert written == ["", "TEXT_MESSAGE       Hello ", "world", "\n"]


def test_a_word_that_grows_near_the_edge_is_not_cut() -> None:
    deltas = ["x" * 35, " un", "believ", "able"]

    assert shown(*text("m", *deltas), width=63) == [
        "TEXT_MESSAGE       " + "x" * 35 + " ",
        "                   unbelievable",
    ]


def test_two_texts_at_once_are_not_mixed() -> None:
    first, second = text("a", "one ", "two ", "three"), text("b", "uno ", "due")
    mixed = [first[0], second[0], first[1], second[1], first[2], second[2], second[3], first[3], first[4]]

    assert shown(*mixed) == ["TEXT_MESSAGE       one two three", "TEXT_MESSAGE       uno due"]


def test_the_second_text_goes_on_live_when_the_first_has_ended() -> None:
    feed, _ = tracing()
    first, second = text("a", "one"), text("b", "uno ", "due")
    for event in (*first[:2], *second[:2]):
        feed(event)

    assert feed(first[-1]) == "\nTEXT_MESSAGE       uno "
    assert feed(second[2]) == "due"


def test_a_line_in_between_interrupts_a_text() -> None:
    start, one, two, end = text("m", "one ", "two")

    assert shown(start, one, *call("c", "look", "{}"), two, end) == [
        "TEXT_MESSAGE       one ",
        "TOOL_CALL          look()",
        "TEXT_MESSAGE       two",
    ]


def test_steps_side_by_side_are_bars_side_by_side() -> None:
    events = [step("STARTED", "a"), step("STARTED", "b"), *call("c", "look", '{"at": "x"}'), step("FINISHED", "a")]
    events += [result("c", "seen"), step("FINISHED", "b")]

    assert shown(*events) == [
        "STEP_STARTED       ┌ a",
        "STEP_STARTED       │ ┌ b",
        'TOOL_CALL          │ │ look(at="x")',
        "STEP_FINISHED      └ │",
        'TOOL_CALL_RESULT   │ look(at="x") → seen',
        "STEP_FINISHED      └",
    ]


def test_every_event_has_a_line() -> None:
    usage = [{"provider": "p", "model": "m", "inputTokens": 1200, "outputTokens": 3}]
    media = [{"type": "text", "text": "see"}, {"type": "image", "source": {}}]
    events: list[Event] = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}},
        {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": r, "role": r} for r in ("user", "user", "tool")]},
        {"type": "REASONING_START", "messageId": "s", "metadata": {"title": "Looking"}},
        {"type": "REASONING_START", "messageId": "m"},
        {"type": "REASONING_MESSAGE_START", "messageId": "m"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "m", "delta": "Hm"},
        {"type": "REASONING_MESSAGE_END", "messageId": "m"},
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "m", "encryptedValue": "xyz"},
        {"type": "REASONING_END", "messageId": "m"},
        {"type": "REASONING_END", "messageId": "s"},
        *call("1", "cut_off", '{"a": '),
        *call("2", "listed", "[1]"),
        result("1", "no such tool", metadata={"langgraph": {"status": "error"}}),
        result("2", media),
        result("unseen", "text"),
        {"type": "SUBAGENT_STARTED", "subagentRunId": "x", "name": "helper", "description": "helps"},
        step("STARTED", "same", subagentRunId="x"),
        step("STARTED", "same"),
        step("FINISHED", "same", subagentRunId="x"),
        step("FINISHED", "same"),
        {"type": "SUBAGENT_FINISHED", "subagentRunId": "x", "outcome": {"type": "suspended"}},
        {"type": "SUBAGENT_STARTED", "subagentRunId": "y", "name": "helper"},
        {"type": "SUBAGENT_ERROR", "subagentRunId": "y", "message": "broken"},
        {
            "type": "STATE_DELTA",
            "delta": [
                {"op": "add", "path": "/a~1b/0", "value": "x"},
                {"op": "remove", "path": "/c"},
                {"op": "move", "from": "/d", "path": "/e"},
                {"op": "test", "path": "/f", "value": 1},
            ],
        },
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "p", "activityType": "progress", "content": {"fraction": 0.5}},
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "q", "activityType": "plan", "content": {"steps": []}},
        {
            "type": "ACTIVITY_DELTA",
            "messageId": "q",
            "activityType": "plan",
            "patch": [{"op": "add", "path": "/steps/-", "value": 1}],
        },
        {"type": "CUSTOM", "name": "chart", "value": [1]},
        {"type": "RAW", "event": {"x": 1}},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": 5, "usage": usage},
        {"type": "RUN_FINISHED", "outcome": {"type": "cancelled"}},
        {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "asked"}]}},
        {"type": "RUN_ERROR", "message": "broken", "code": "AGENT_ERROR"},
        {"type": "RUN_ERROR", "message": "broken"},
    ]

    assert shown(*events, width=100) == snapshot(
        [
            "RUN_STARTED        thread t  run r",
            'STATE_SNAPSHOT     {"a": 1}',
            "MESSAGES_SNAPSHOT  2 user, 1 tool",
            "REASONING_START    ┌ Looking",
            "REASONING          │ Hm",
            "REASONING          │ an encrypted value of 3 characters",
            "REASONING_END      └",
            'TOOL_CALL          cut_off({"a": )',
            "TOOL_CALL          listed([1])",
            'TOOL_CALL_RESULT   cut_off({"a": ) → no such tool',
            "TOOL_CALL_RESULT   listed([1]) → see [image]",
            "TOOL_CALL_RESULT   unseen → text",
            "SUBAGENT_STARTED   ┌ helper: helps",
            "STEP_STARTED       │ ┌ same",
            "STEP_STARTED       │ │ ┌ same",
            "STEP_FINISHED      │ └ │",
            "STEP_FINISHED      │ └",
            "SUBAGENT_FINISHED  └ suspended",
            "SUBAGENT_STARTED   ┌ helper",
            "SUBAGENT_ERROR     └ broken",
            "STATE_DELTA        a/b.0 = x",
            "                   c removed",
            "                   e move from /d",
            "                   f == 1",
            "ACTIVITY_SNAPSHOT  ██████████░░░░░░░░░░  50%",
            'ACTIVITY_SNAPSHOT  plan {"steps": []}',
            "ACTIVITY_DELTA     plan steps.- = 1",
            "CUSTOM             chart [1]",
            'RAW                {"event": {"x": 1}}',
            "usage              p m: 1,200 input tokens, 3 output tokens",
            "RUN_FINISHED       success: 5",
            "RUN_FINISHED       cancelled",
            "RUN_FINISHED       paused with a question",
            "RUN_ERROR          AGENT_ERROR: broken",
            "RUN_ERROR          broken",
        ]
    )


def test_chunks_and_thinking_are_shown_as_what_they_stand_for() -> None:
    events: list[Event] = [
        {"type": "THINKING_START", "title": "Looking"},
        {"type": "THINKING_TEXT_MESSAGE_START"},
        {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "Hm"},
        {"type": "THINKING_TEXT_MESSAGE_END"},
        {"type": "THINKING_END"},
        {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "look", "delta": '{"at"'},
        {"type": "TOOL_CALL_CHUNK", "delta": ': "x"}'},
        {"type": "TOOL_CALL_CHUNK", "toolCallId": "d", "toolCallName": "look"},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "assistant", "delta": "He"},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "llo"},
        {"type": "RUN_FINISHED"},
    ]

    assert shown(*events) == [
        "THINKING_START     ┌ Looking",
        "THINKING           │ Hm",
        "THINKING_END       └",
        'TOOL_CALL          look(at="x")',
        "TOOL_CALL          look()",
        "TEXT_MESSAGE       Hello",
        "RUN_FINISHED       success",
    ]


def test_of_a_text_in_the_state_that_grows_only_what_is_new_is_shown() -> None:
    values = ["Once", "Once upon", "Once upon", "Twice"]
    deltas: list[Event] = [
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/document", "value": value}]} for value in values
    ]

    assert shown(*deltas) == [
        "STATE_DELTA        document = Once",
        'STATE_DELTA        document += " upon"',
        'STATE_DELTA        document += ""',
        "STATE_DELTA        document = Twice",
    ]


def test_long_values_are_shortened_unless_all_shall_be_seen() -> None:
    event = {"type": "CUSTOM", "name": "long", "value": "x" * 1000}

    assert shown(event, width=500) == ["CUSTOM             long " + "x" * 400 + "… (1,000 characters)"]
    assert "".join(shown(event, full=True)).count("x") == 1000


def test_text_cannot_control_the_terminal() -> None:
    [line] = shown(*text("m", "a\x1b[2Jb\x07\r\x9bc\x7f\u2028d"))

    assert line == "TEXT_MESSAGE       a␛[2Jb␇�c␡�d"
    assert printable("pay \u202e001\u202c now") == "pay �001� now"


def test_text_without_spaces_takes_time_in_proportion_to_its_length() -> None:
    before = process_time()
    lines = shown(*text("m", "漢字" * 50_000), *text("n", "x" * 1_000_000))
    assert process_time() - before < 10
    assert sum(map(width_of, (line[LABEL_WIDTH:] for line in lines))) == 1_200_000


def test_colours_are_for_terminals() -> None:
    events = [step("STARTED", "a"), *text("m", "hello"), step("FINISHED", "a")]
    coloured = shown(*events, colour=True)

    assert "\x1b[" not in "".join(shown(*events))
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in coloured] == shown(*events)


def luminance(colour: int) -> float:
    """Of one of the 216 colours of xterm's cube, as WCAG 2 has it."""
    levels = (0, 95, 135, 175, 215, 255)
    shares = [levels[(colour - 16) // step % 6] / 255 for step in (36, 6, 1)]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_colours_can_be_read_on_black_and_on_white() -> None:
    """WCAG asks for 3 : 1 for what is large or bold; text in a terminal gets more."""
    events: list[Event] = [step("STARTED", f"{n}") for n in range(8)]
    events += [*text("m", "hello"), *call("c", "look", "{}"), result("c", "seen"), {"type": "STATE_DELTA", "delta": []}]
    events += [{"type": "CUSTOM", "name": "x", "value": 1}, {"type": "RUN_ERROR", "message": "broken"}]
    found = set(re.findall("\x1b\\[([0-9;]+)m", "".join(shown(*events, colour=True, width=90))))
    colours = {int(code.removeprefix("38;5;")) for code in found if code.startswith("38;5;")}

    assert len(colours) == 6, "all of them"
    assert found <= {"0", "1", "2", "2;3", *(f"38;5;{colour}" for colour in colours)}
    for colour in colours:
        assert (luminance(colour) + 0.05) / 0.05 >= 3.8, colour
        assert 1.05 / (luminance(colour) + 0.05) >= 3.8, colour


@pytest.mark.parametrize("word", ["界" * 60, "😀" * 60, "e\u0301" * 120])
def test_wide_and_combined_characters_fit(word: str) -> None:
    lines = shown(*text("m", word))

    assert all(width_of(line) <= 60 for line in lines)
    assert "".join(line[LABEL_WIDTH:] for line in lines) == word


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=30), max_size=12), st.integers(40, 90))
def test_nothing_is_lost_but_spaces_and_no_line_is_too_long(deltas: list[str], width: int) -> None:
    lines = shown(step("STARTED", "s"), *text("m", *deltas), width=width)[1:]

    assert all(width_of(line) <= width for line in lines)
    kept = "".join(line[LABEL_WIDTH + 2 :] for line in lines)
    assert re.sub(r"\s", "", kept) == re.sub(r"\s", "", printable("".join(deltas)))


def test_in_a_narrow_terminal_the_innermost_bars_are_not_drawn() -> None:
    names = [f"step-{n} {'x' * 40}" for n in range(6)]
    events = [*(step("STARTED", name) for name in names), *text("m", "a few words in it, and a " + "long" * 10)]
    events += [step("FINISHED", name) for name in reversed(names)]

    lines = shown(*events, width=40)

    assert all(width_of(line) <= 40 for line in lines)
    assert lines[5:9] == [
        "STEP_STARTED       │ │ │ │ ┌ step-5 xxx…",
        "TEXT_MESSAGE       │ │ │ │ a few words",
        "                   │ │ │ │ in it, and a",
        "                   │ │ │ │ longlonglongl",
    ]
    assert lines[-6:] == [
        "STEP_FINISHED      │ │ │ │ └",
        "STEP_FINISHED      │ │ │ │ └",
        "STEP_FINISHED      │ │ │ └",
        "STEP_FINISHED      │ │ └",
        "STEP_FINISHED      │ └",
        "STEP_FINISHED      └",
    ]


# ---------------------------------------------------------------- what the client holds


def test_a_client_holds_what_its_events_said() -> None:
    client = Client({"threadId": "t", "messages": [{"id": "u", "role": "user", "content": "hi"}]})
    events: list[Event] = [
        {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}},
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/b", "value": 2}]},
        {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/nowhere"}]},
        {"type": "REASONING_MESSAGE_START", "messageId": "m-r", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "m-r", "delta": "Hm"},
        {"type": "REASONING_MESSAGE_END", "messageId": "m-r"},
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "m-r", "encryptedValue": "E"},
        *text("m", "He", "llo"),
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look", "parentMessageId": "m"},
        {"type": "TOOL_CALL_CHUNK", "toolCallId": "d", "toolCallName": "look", "parentMessageId": "n", "delta": "{}"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"},
        result("c", "seen"),
    ]
    unchunked = Unchunked()
    for event in events:
        for single in unchunked.feed(event):
            client.apply(single)

    request = client.request([{"id": "v", "role": "user", "content": "more"}])

    def looks(id: str) -> Event:
        return {"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}}

    assert request["state"] == {"a": 1, "b": 2}
    assert request["threadId"] == "t"
    assert request["messages"] == [
        {"id": "u", "role": "user", "content": "hi"},
        {"id": "m-r", "role": "reasoning", "content": "Hm", "encryptedValue": "E"},
        {"id": "m", "role": "assistant", "content": "Hello", "toolCalls": [looks("c")]},
        {"id": "n", "role": "assistant", "toolCalls": [looks("d")]},
        {"id": "r-c", "role": "tool", "toolCallId": "c", "content": "seen"},
        {"id": "v", "role": "user", "content": "more"},
    ]


def test_a_snapshot_replaces_what_a_client_holds() -> None:
    client = Client({"messages": [{"id": "u", "role": "user", "content": "hi"}]})
    call_ = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "[1]"}}
    messages = [{"id": "m", "role": "assistant", "toolCalls": [call_]}, {"id": "p", "role": "activity"}]

    client.apply({"type": "MESSAGES_SNAPSHOT", "messages": messages})

    assert client.request()["messages"] == messages[:1]
    assert client.call("c") == {"name": "look", "arguments": "[1]"}
    assert client.call("d") is None


def held(**texts: Any) -> Event:
    messages = [{"id": own, "role": "assistant", "content": text} for own, text in texts.items()]
    return {"type": "MESSAGES_SNAPSHOT", "messages": messages}


@pytest.mark.parametrize(
    ("events", "notes"),
    [
        ([*text("m", "one"), held(m="two")], ['"one" was rewritten:', "two"]),
        ([*text("m", "one"), held(m="")], ['"one" was removed']),
        ([*text("m", "one"), held(m="one ")], []),
        ([*text("m", "one"), held(x="one")], []),
        ([*text("m", "one"), held(x="two")], ['"one" was removed']),
        ([*text("m", "one", end=False), held(m="on")], []),
        ([{**text("m", "one")[0], "subagentRunId": "s"}, *text("m", "one")[1:], held()], []),
        ([*text("m", "one"), {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}, held()], []),
        ([*text("m", "long " * 20), held()], [f'"{("long " * 20)[:40]}…" was removed']),
    ],
)
def test_of_any_server_the_person_reads_which_answers_changed(events: list[Event], notes: list[str]) -> None:
    lines = shown(*events, width=100)
    at = next(n for n, line in enumerate(lines) if line.startswith("MESSAGES_SNAPSHOT"))
    assert [line.strip() for line in lines[at + 1 :]] == notes
