"""Bodies with one thing wrong, judged by the kit and by the npm package `ai` itself in three versions."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.ai_sdk_page import client
from yai_nexus_agentkit.errors import RunInputError
from yai_nexus_agentkit.protocol.request import RequestLimits
from yai_nexus_agentkit.transport.ai_sdk import AISDKWire

FACTS = {"agui": {"messageId": "m1"}}
CALL = {"toolCallId": "c1", "input": {"city": "Rome"}, "callProviderMetadata": FACTS, "providerExecuted": False}
NAMED = {"type": "dynamic-tool", "toolName": "weather", **CALL}
STATIC = {"type": "tool-weather", **CALL}
ASKED = {"id": "i1"}
STATES: list[dict[str, Any]] = [
    {"state": "input-streaming", "rawInput": '{"ci'},
    {"state": "input-available", "toolMetadata": {"a": 1}},
    {"state": "approval-requested", "approval": ASKED},
    {"state": "approval-responded", "approval": {**ASKED, "approved": True, "reason": "why not"}},
    {"state": "output-available", "output": "25", "preliminary": False, "resultProviderMetadata": FACTS},
    {"state": "output-available", "output": [1], "approval": {**ASKED, "approved": True}},
    {"state": "output-error", "errorText": "it broke"},
    {"state": "output-denied", "approval": {**ASKED, "approved": False}},
]
FILE = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,aGVsbG8=", "filename": "a.png"}
PARTS: list[dict[str, Any]] = [
    {"type": "step-start"},
    {"type": "reasoning", "id": "r1", "text": "Hm.", "state": "done", "providerMetadata": FACTS},
    {"type": "text", "text": "Hello.", "state": "streaming", "providerMetadata": FACTS, "citations": []},
    {**FILE, "providerMetadata": FACTS, "providerReference": {"openai": "file-1"}},
    {"type": "source-url", "sourceId": "s1", "url": "https://w.example/", "title": "Weather"},
    {"type": "source-document", "sourceId": "s2", "mediaType": "text/plain", "title": "A", "filename": "a.txt"},
    {"type": "custom", "kind": "openai.compaction"},
    {"type": "reasoning-file", "mediaType": "image/png", "url": FILE["url"]},
    {"type": "steering-message", "id": "s3", "parts": [{"type": "text", "text": "Faster."}]},
    {"type": "data-state", "id": "state", "data": {"n": 1}},
    *({**named, **state} for state in STATES for named in (NAMED, STATIC)),
]
USER: dict[str, Any] = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
ODD: list[Any] = [4, "weird", True, False, None, [], {}, [4], {"a": 4}]
MISSING = object()


def odd(whole: Any, *at: str | int) -> list[Any]:
    """The same with something odd in this place."""
    found: list[Any] = []
    for value in (*ODD, MISSING):
        made = copy.deepcopy(whole)
        inside = made
        for name in at[:-1]:
            inside = inside[name]
        if value is not MISSING:
            inside[at[-1]] = value
        elif isinstance(inside, dict):
            del inside[at[-1]]
        found.append(made)
    return found


def tables() -> Iterator[tuple[str, list[Any]]]:
    """The JSON Pointer of a place in a chat, and chats with odd things in this place."""
    answer = {"id": "re-u1", "role": "assistant", "metadata": {"runId": "r1"}, "parts": PARTS}
    yield "/0", odd([USER], 0)
    for message in (USER, answer, {**USER, "role": "system"}):
        for name in message:
            yield f"/0/{name}", odd([message], 0, name)
        yield "/0/parts/0", odd([message], 0, "parts", 0)
    for part in [*PARTS, USER["parts"][0], FILE]:
        whole = [{**(answer if part in PARTS else USER), "parts": [part]}]
        for name, value in part.items():
            yield f"/0/parts/0/{name}", odd(whole, 0, "parts", 0, name)
            for deeper in value if name == "approval" else ():
                yield f"/0/parts/0/approval/{deeper}", odd(whole, 0, "parts", 0, name, deeper)


def ours(messages: Any, **more: Any) -> str | None:
    """The path of the fault; None if the body is accepted."""
    try:
        AISDKWire().parse({"id": "c1", "messages": messages, **more}, (), RequestLimits())
    except RunInputError as error:
        return error.path
    return None


def is_forgiven(path: str, messages: list[Any]) -> bool:
    """The kit accepts more than the AI SDK: see the docstring of `shape`."""
    message = messages[0]
    part = message["parts"][0] if message.get("parts") else {}
    last = path.rpartition("/")[2]
    within = part.get("approval") if "/approval/" in path else part if "/parts/" in path else message
    if isinstance(within, dict) and within.get(last, 0) is None:
        return True
    if last in ("input", "output", "data", "errorText") and last not in part:
        return True
    answered = str(part.get("state")).startswith("output")
    unread = last in ("rawInput", "citations", "providerReference") or path == "/0/parts/0/parts"
    return unread or (answered and last in ("approval", "approved"))


def test_a_body_is_refused_if_no_version_of_the_client_can_have_sent_it() -> None:
    places = list(tables())
    with client() as ai:
        [whole, *verdicts] = ai.generations(
            [[{**USER, "role": "assistant", "parts": PARTS}], *(chat for _, chats in places for chat in chats)]
        )
    assert whole == [7], "the newest has all of these parts"
    assert sum(not versions for versions in verdicts) > 500
    each, wrong = iter(verdicts), []
    for path, chats in places:
        valid = [next(each) for _ in chats]
        known = set().union(*valid) - set.intersection(*map(set, valid))  # the others take nothing or anything here
        for messages, versions in zip(chats, valid, strict=True):
            at, possible = ours(messages), bool(known.intersection(versions) if known else versions)
            if at is not None if possible else at is None and not is_forgiven(path, messages):
                wrong.append((path, at, versions, messages))
            assert at is None or f"/messages{path}".startswith(at) or at.startswith(f"/messages{path}"), (path, at)
    assert wrong == []


@pytest.mark.parametrize(
    ("more", "at"),
    [
        ({}, None),
        ({"trigger": "submit-message", "messageId": None}, None),
        ({"trigger": "regenerate-message", "messageId": "re-u1"}, None),
        ({"trigger": 5}, "/trigger"),
        ({"trigger": "resume-stream"}, "/trigger"),
        ({"trigger": ["submit-message"]}, "/trigger"),
        ({"messageId": 5}, "/messageId"),
        ({"state": {"n": 1}}, None),
        ({"state": [1]}, "/state"),
        ({"state": "x"}, "/state"),
        ({"context": {}}, "/context"),
        ({"context": [{"description": "a"}]}, "/context/0/value"),
        ({"tools": 5}, "/tools"),
        ({"tools": [5]}, "/tools/0"),
        ({"tools": {"a/b": 5}}, "/tools/a~1b"),
        ({"tools": {"a": {"description": 5}}}, "/tools/a/description"),
        ({"tools": {"a": {"parameters": 5}}}, "/tools/a/parameters"),
        ({"tools": {"a": {"parameters": {"type": "object"}, "type": "frontend"}}}, None),
        ({"system": 5, "callSettings": {}, "config": {"modelName": "x"}, "metadata": {}}, None),
    ],
)
def test_the_members_beside_the_messages(more: Any, at: str | None) -> None:
    assert ours([USER], **more) == at
