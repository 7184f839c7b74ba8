"""Any messages convert, and conversion there and back changes nothing."""

from __future__ import annotations

import sys
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    AudioPart,
    DataSource,
    DeveloperMessage,
    DocumentPart,
    FileSource,
    FunctionCall,
    ImagePart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UrlSource,
    UserMessage,
    VideoPart,
)
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core import messages as lc
from langchain_core.messages import AIMessage, HumanMessage

from tests.support.messages import assert_stable, there_and_back, wire
from yai_nexus_agentkit.adapter.langgraph.messages.convert import is_shown, to_agui


def made(model: Any, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """`model` with exactly these fields: `st.builds` also guesses values for their aliases."""
    return st.fixed_dictionaries(fields).map(lambda given: model(**given))


TEXT = st.text(max_size=5)
ID = st.text(st.sampled_from("abc-0"), min_size=1, max_size=4)
JSON = st.recursive(
    st.none() | st.integers() | TEXT, lambda inner: st.dictionaries(TEXT, inner, max_size=2), max_leaves=4
)
METADATA = st.none() | st.dictionaries(TEXT, JSON, max_size=2)
NAMED = {"name": st.none() | st.text(min_size=1, max_size=3), "metadata": METADATA, "encrypted_value": st.none() | TEXT}
SOURCES = st.one_of(
    made(DataSource, value=st.sampled_from(["AA", "iVBOR"]), mime_type=st.sampled_from(["image/png", "text/x", "a"])),
    made(UrlSource, value=st.just("https://example.com"), mime_type=st.none() | st.just("audio/wav")),
    made(FileSource, value=ID, provider=st.none() | st.just("openai"), mime_type=st.none() | st.just("image/x")),
)
DOCUMENTS = made(DataSource, value=st.just("UERG"), mime_type=st.just("application/pdf"))
PART = {"id": st.none() | ID, "metadata": st.none() | JSON}
PARTS = st.lists(
    st.one_of(
        made(TextPart, text=TEXT, **PART),
        made(ImagePart, source=SOURCES, **PART),
        made(AudioPart, source=SOURCES, **PART),
        made(VideoPart, source=SOURCES, **PART),
        made(DocumentPart, source=DOCUMENTS, **PART),
    ),
    min_size=1,
    max_size=3,
)
ARGUMENTS = st.sampled_from(["{}", '{"a":1}', '{"é":null}'])
CALLS = st.lists(
    made(
        ToolCall,
        id=ID,
        function=made(FunctionCall, name=TEXT, arguments=ARGUMENTS),
        metadata=METADATA,
        encrypted_value=st.none() | TEXT,
    ),
    max_size=3,
    unique_by=lambda one: one.id,
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Any]:
    """AG-UI messages in the form that the conversion gives: what it normalises is not generated."""
    messages = draw(
        st.lists(
            st.one_of(
                made(SystemMessage, id=ID, content=TEXT, **NAMED),
                made(DeveloperMessage, id=ID, content=TEXT, **NAMED),
                made(UserMessage, id=ID, content=TEXT | PARTS, **NAMED),
                made(
                    AssistantMessage,
                    id=ID,
                    content=st.none() | st.text(min_size=1, max_size=3),
                    tool_calls=CALLS.map(lambda calls: calls or None),
                    **NAMED,
                ),
                made(
                    ToolMessage,
                    id=ID,
                    content=TEXT | PARTS,
                    tool_call_id=ID,
                    error=st.none() | TEXT,
                    metadata=METADATA,
                    encrypted_value=st.none() | TEXT,
                ),
            ),
            max_size=6,
            unique_by=lambda one: one.id,
        )
    )
    seen: set[str] = set()
    for number, message in enumerate(messages):
        for one in getattr(message, "tool_calls", None) or ():
            if one.id in seen:
                one.id = f"{one.id}/{number}"
            seen.add(one.id)
    return list(messages)


@given(conversations())
def test_agui_messages_go_there_and_back(messages: list[Any]) -> None:
    said = [one for one in messages if one.role != "assistant" or one.content or one.tool_calls]
    assert there_and_back(*messages) == wire(said), "all but answers that say nothing"


WORDS = st.sampled_from(
    [
        "text",
        "image",
        "file",
        "thinking",
        "reasoning",
        "image_url",
        "document",
        "input_audio",
        "non_standard",
        "summary",
        "base64",
        "url",
        "x",
    ]
)
MEMBERS = st.sampled_from(
    [
        "type",
        "text",
        "thinking",
        "signature",
        "summary",
        "reasoning",
        "source",
        "url",
        "base64",
        "data",
        "mime_type",
        "index",
        "id",
        "file_id",
        "image_url",
    ]
)
BLOCKS = st.dictionaries(MEMBERS, WORDS | st.dictionaries(MEMBERS, WORDS, max_size=3) | st.integers(0, 2), max_size=5)
CONTENT = st.text(max_size=4) | st.lists(st.text(max_size=3) | BLOCKS, max_size=4)
EXTRA = st.fixed_dictionaries(
    {},
    optional={
        "reasoning_content": TEXT,
        "reasoning": TEXT | BLOCKS,
        "agui": st.none()
        | st.dictionaries(st.sampled_from(["metadata", "parts", "calls", "error"]), JSON | st.lists(JSON)),
    },
)
COMMON = {"content": CONTENT, "id": st.none() | ID, "name": st.none() | TEXT, "additional_kwargs": EXTRA}
LC_CALLS = st.lists(
    st.fixed_dictionaries({"name": TEXT, "args": st.dictionaries(TEXT, JSON, max_size=2), "id": st.none() | ID}),
    max_size=3,
)
INVALID = st.lists(
    st.fixed_dictionaries(
        {"name": st.none() | TEXT, "args": st.none() | TEXT, "id": st.none() | ID, "error": st.none()}
    ),
    max_size=2,
)
LANGCHAIN = st.lists(
    st.one_of(
        made(HumanMessage, **COMMON),
        made(lc.SystemMessage, **COMMON),
        made(AIMessage, **COMMON, tool_calls=LC_CALLS, invalid_tool_calls=INVALID),
        made(
            lc.ToolMessage, **COMMON, tool_call_id=ID, artifact=st.none(), status=st.sampled_from(["success", "error"])
        ),
        made(lc.ChatMessage, **COMMON, role=st.sampled_from(["user", "assistant", "odd", ""])),
        made(lc.FunctionMessage, **{**COMMON, "name": TEXT}),
        made(lc.RemoveMessage, id=ID),
    ),
    max_size=5,
)


@given(LANGCHAIN, st.booleans(), st.booleans())
def test_any_langchain_messages_convert(messages: list[lc.BaseMessage], declared: bool, reasoning: bool) -> None:
    sent = to_agui(messages, declared=declared, reasoning=reasoning)
    wire(sent)
    roles = {message.role for message in sent}
    assert reasoning or "reasoning" not in roles
    calls = [one.id for message in sent if isinstance(message, AssistantMessage) for one in message.tool_calls or ()]
    if len({message.id for message in messages}) == len(messages):
        assert len(calls) == len(set(calls))
    if not declared:
        assert all(isinstance(message.content, str) for message in sent if isinstance(message, ToolMessage))


THOUGHT = AIMessage("", additional_kwargs={"reasoning_content": "0"})


@given(LANGCHAIN)
@example([THOUGHT, lc.ChatMessage("", role="assistant")])
@example([THOUGHT, lc.ChatMessage([], role="odd", id="0")])
@example([THOUGHT, lc.ChatMessage("", role="ai", id="0"), HumanMessage("", id="0"), AIMessage("said")])
def test_what_was_on_the_wire_stays(messages: list[lc.BaseMessage]) -> None:
    assert_stable(messages)


@given(LANGCHAIN)
def test_messages_that_are_shown_are_those_that_convert(messages: list[lc.BaseMessage]) -> None:
    for message in messages:
        assert is_shown(message) == bool(to_agui([message], reasoning=False))


def _python_calls(count: int) -> int:
    """Calls of Python functions while `count` questions and answers convert."""
    messages: list[lc.BaseMessage] = []
    for number in range(count):
        messages += [HumanMessage(f"question {number}", id=f"u{number}"), AIMessage("answer " * 20, id=f"a{number}")]
    calls = 0

    def note(_frame: Any, event: str, _arg: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(note)
    try:
        to_agui(messages)
    finally:
        sys.setprofile(None)
    return calls


def test_three_thousand_messages() -> None:
    """Converted in linear time: counted, since a busy machine has no constant speed."""
    few, many = _python_calls(150), _python_calls(1500)
    assert many < 10.1 * few
    assert many < 3000 * 12, f"{many / 3000} calls per message"
