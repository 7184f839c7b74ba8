"""The provider fails after half a sentence."""

from __future__ import annotations

from tests.scenarios.checks import failure
from tests.scenarios.kit import chat_graph, hello, streaming
from tests.scenarios.reading import texts

TITLE = "a failure in the middle of an answer closes the message and then reports the error, last"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/issues/2531"


def build():
    return chat_graph(streaming(ids="all", script=[["Half an ", "ans", RuntimeError("provider down 503")]]))


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = failure(ev, says="provider down 503")
    if list(texts(ev).values()) != ["Half an ans"]:
        p.append(f"streamed {texts(ev)}")
    return p
