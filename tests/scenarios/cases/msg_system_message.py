"""A client that sends a system message with every run, as it holds the list."""

from __future__ import annotations

from tests.scenarios.checks import no_duplicates, success
from tests.scenarios.kit import chat_graph, streaming, turn, user
from tests.scenarios.reading import roles, snapshot, view

TITLE = "a system message reaches the model once per run and is not multiplied in the history"
SOURCE = "own"
SYS = {"id": "s1", "role": "system", "content": "Be brief."}


def build():
    global MODEL
    MODEL = streaming(ids="all", script=[["One."], ["Two."]])
    return chat_graph(MODEL)


def turns():
    return [
        turn("r1", [SYS, user("u1", "q1")]),
        lambda runs: turn("r2", [*view(runs[0], [SYS, user("u1", "q1")]), user("u2", "q2")]),
    ]


def check(runs):
    p = success(runs[0]) + success(runs[1], "r2") + no_duplicates(snapshot(runs[1]))
    for n, c in enumerate(MODEL.calls):
        if [m.content for m in c if m.type == "system"] != ["Be brief."]:
            p.append(f"run {n + 1}: the model was given system messages {[m.content for m in c if m.type == 'system']}")
    if [m.content for m in MODEL.calls[-1] if m.type != "system"] != ["q1", "One.", "q2"]:
        p.append(f"the model was given {[m.content for m in MODEL.calls[-1]]}")
    if roles(snapshot(runs[1])) != ["system", "user", "assistant", "user", "assistant"]:
        p.append(f"snapshot has {roles(snapshot(runs[1]))}: the client loses or doubles its system message")
    return p
