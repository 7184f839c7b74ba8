"""Content as a list of blocks, with block types the adapter may not know."""

from __future__ import annotations

from langchain_core.messages import AIMessageChunk as C

from tests.scenarios.checks import no_duplicates, success
from tests.scenarios.kit import chat_graph, hello, streaming, user
from tests.scenarios.reading import plain, snapshot, spoken, texts, view

TITLE = "text that arrives as content blocks is plain text for the user"
SOURCE = "https://github.com/assistant-ui/assistant-ui/pull/994"


def build():
    return chat_graph(
        streaming(
            ids="all",
            script=[
                [
                    C(content=[]),
                    C(content=[{"type": "text", "text": "Hel", "index": 0}]),
                    C(content=[{"type": "text", "text": "lo ", "index": 0}]),
                    C(content=[{"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}, "index": 1}]),
                    C(content=[{"type": "web_search_tool_result", "tool_use_id": "s1", "content": [], "index": 2}]),
                    C(
                        content=[
                            {"type": "text", "text": "wor", "index": 3},
                            {"type": "text", "text": "ld", "index": 4},
                        ]
                    ),
                    C(content=[{"type": "text", "text": "", "citations": [{"url": "https://x"}], "index": 4}]),
                ]
            ],
        )
    )


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = success(ev)
    if "".join(texts(ev).values()) != "Hello world":
        p.append(f"streamed {texts(ev)}")
    shown = [plain(m["content"]) for m in spoken(view(ev, [user("u1", "hi")])) if m["role"] == "assistant"]
    if "".join(shown) != "Hello world":
        p.append(f"the client ends with {shown}")
    return p + no_duplicates(snapshot(ev))
