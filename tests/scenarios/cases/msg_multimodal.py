"""A user message with text, an inline image, an image by URL and a PDF."""

from __future__ import annotations

import json

from tests.scenarios.checks import streamed_ids, success
from tests.scenarios.kit import chat_graph, streaming, turn
from tests.scenarios.reading import snapshot

TITLE = "a message with images and a document reaches the model whole and stays what it was"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/issues/2011"
PARTS = [
    {"type": "text", "text": "What is this?"},
    {"type": "image", "source": {"type": "data", "value": "SU1BR0U=", "mimeType": "image/png"}},
    {"type": "image", "source": {"type": "url", "value": "https://example.com/cat.jpg"}},
    {"type": "document", "source": {"type": "data", "value": "UERG", "mimeType": "application/pdf"}},
]


def build():
    global MODEL
    MODEL = streaming(ids="all", script=[["A cat."]])
    return chat_graph(MODEL)


def turns():
    return [turn("r1", [{"id": "u1", "role": "user", "content": PARTS}])]


def check(runs):
    ev = runs[0]
    p = success(ev) + streamed_ids(ev, "A cat.")
    seen = json.dumps(MODEL.calls[0][-1].content)
    for w in ("What is this?", "SU1BR0U=", "image/png", "https://example.com/cat.jpg", "UERG", "application/pdf"):
        if w not in seen:
            p.append(f"the model does not see {w}")
    back = (snapshot(ev) or [{}])[0].get("content")
    if not isinstance(back, list):
        return [*p, f"the user's message came back as {str(back)[:80]!r}"]
    if [x["type"] for x in back] != ["text", "image", "image", "document"]:
        p.append(f"the parts came back as {[x['type'] for x in back]}")
    elif (
        back[1]["source"]["value"],
        back[2]["source"]["value"],
        back[3]["source"]["value"],
        back[3]["source"].get("mimeType"),
    ) != ("SU1BR0U=", "https://example.com/cat.jpg", "UERG", "application/pdf"):
        p.append(f"the sources came back as {[x.get('source') for x in back]}")
    return p
