"""Three turns; the client resends what it holds, as AG-UI clients do."""

from __future__ import annotations

from tests.scenarios.checks import consistent, streamed_ids, success
from tests.scenarios.kit import chat_graph, streaming, turn, user
from tests.scenarios.reading import plain, shape, texts, view

TITLE = "over three turns no message is doubled, lost, or renamed, and the model sees each once"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/pull/1543"


def build():
    global MODEL
    MODEL = streaming(ids="all", script=[["One."], ["Two."], ["Three."]])
    return chat_graph(MODEL)


def turns():
    def nth(n):
        def t(runs):
            held = []
            for k, ev in enumerate(runs):
                held = view(ev, [*held, user(f"u{k + 1}", f"q{k + 1}")])
            return turn(f"r{n}", [*held, user(f"u{n}", f"q{n}")])

        return t

    return [nth(1), nth(2), nth(3)]


def check(runs):
    p, held = [], []
    for k, (ev, word) in enumerate(zip(runs, ("One.", "Two.", "Three."), strict=False)):
        held = [*held, user(f"u{k + 1}", f"q{k + 1}")]
        p += success(ev, f"r{k + 1}") + consistent(ev, held) + streamed_ids(ev, word)
        if len(texts(ev)) != 1:
            p.append(f"turn {k} streamed {texts(ev)}")
        before = [m["id"] for m in held]
        held = view(ev, held)
        if [m["id"] for m in held][: len(before)] != before:
            p.append(f"turn {k} renamed or moved earlier messages: {before} -> {[m['id'] for m in held]}")
    if [plain(m["content"]) for m in held] != ["q1", "One.", "q2", "Two.", "q3", "Three."]:
        p.append(f"client ends with {shape(held)}")
    if [len(c) for c in MODEL.calls] != [1, 3, 5]:
        p.append(f"the model was given {[len(c) for c in MODEL.calls]} messages")
    return p
