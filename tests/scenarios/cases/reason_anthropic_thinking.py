"""Anthropic extended thinking: thinking deltas, then the signature, then text, as content blocks."""

from __future__ import annotations

from langchain_core.messages import AIMessageChunk as C

from tests.scenarios.checks import consistent, success
from tests.scenarios.kit import chat_graph, hello, streaming, user
from tests.scenarios.reading import expand, index, of, plain, snapshot, texts, thoughts, view

TITLE = "Anthropic thinking is shown as reasoning, apart from the answer, and its signature is kept for the next turn"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/pull/1149"


def build():
    return chat_graph(
        streaming(
            ids="first",
            label="msg",
            script=[
                [
                    C(content=[]),
                    C(content=[{"type": "thinking", "thinking": "The user ", "index": 0}]),
                    C(content=[{"type": "thinking", "thinking": "greets.", "index": 0}]),
                    C(content=[{"type": "thinking", "signature": "SIG-123", "index": 0}]),
                    C(content=[{"type": "text", "text": "Hel", "index": 1}]),
                    C(content=[{"type": "text", "text": "lo.", "index": 1}]),
                    C(content=[]),
                ]
            ],
        )
    )


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = success(ev) + consistent(ev)
    if list(thoughts(ev).values()) != ["The user greets."]:
        p.append(f"reasoning streamed as {thoughts(ev)}")
    if list(texts(ev).values()) != ["Hello."]:
        p.append(f"answer streamed as {texts(ev)}")
    x = expand(ev)
    if index(x, "REASONING_MESSAGE_END") > index(x, "TEXT_MESSAGE_CONTENT"):
        p.append("the answer began before the reasoning ended")
    kept = [e["encryptedValue"] for e in of(ev, "REASONING_ENCRYPTED_VALUE")] + [
        m.get("encryptedValue") for m in snapshot(ev) or []
    ]
    if not any(v and "SIG-123" in v for v in kept):
        p.append("the signature is lost: the thinking cannot be sent back to the provider")
    shown = [(m["role"], plain(m["content"])) for m in view(ev, [user("u1", "hi")])]
    if sorted(shown) != sorted([("user", "hi"), ("reasoning", "The user greets."), ("assistant", "Hello.")]):
        p.append(f"the client ends with {shown}")
    return p
