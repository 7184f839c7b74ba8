"""OpenAI Responses: reasoning items with an id, several summary parts and encrypted content."""

from __future__ import annotations

from langchain_core.messages import AIMessageChunk as C

from tests.scenarios.checks import consistent, success
from tests.scenarios.kit import chat_graph, hello, streaming, user
from tests.scenarios.reading import of, plain, snapshot, texts, thoughts, view

TITLE = "an OpenAI reasoning summary in several parts is shown once and whole, and its encrypted content is kept"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/pull/1926"


def R(**kw):
    return C(content=[{"type": "reasoning", "index": 0, **kw}])


def build():
    return chat_graph(
        streaming(
            ids="first",
            label="resp",
            script=[
                [
                    R(id="rs_1", summary=[]),
                    R(summary=[{"index": 0, "type": "summary_text", "text": "Weighing "}]),
                    R(summary=[{"index": 0, "type": "summary_text", "text": "options."}]),
                    R(summary=[{"index": 1, "type": "summary_text", "text": "Picking "}]),
                    R(summary=[{"index": 1, "type": "summary_text", "text": "one."}]),
                    R(id="rs_1", encrypted_content="ENC-9"),
                    C(content=[{"type": "text", "text": "Take ", "index": 1}]),
                    C(content=[{"type": "text", "text": "the bus.", "index": 1}]),
                ]
            ],
        )
    )


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = success(ev) + consistent(ev)
    got = "".join(thoughts(ev).values())
    for w in ("Weighing options.", "Picking one."):
        if got.count(w) != 1:
            p.append(f"{w!r} is in the streamed reasoning {got.count(w)} times: {got!r}")
    if list(texts(ev).values()) != ["Take the bus."]:
        p.append(f"answer streamed as {texts(ev)}")
    kept = [e["encryptedValue"] for e in of(ev, "REASONING_ENCRYPTED_VALUE")] + [
        m.get("encryptedValue") for m in snapshot(ev) or []
    ]
    if not any(v and "ENC-9" in v for v in kept):
        p.append("the encrypted content is lost")
    shown = [plain(m["content"]) for m in view(ev, [user("u1", "hi")]) if m["role"] == "reasoning"]
    if sum(s.count("Weighing options.") for s in shown) != 1:
        p.append(f"in the end the client shows reasoning {shown}")
    return p
