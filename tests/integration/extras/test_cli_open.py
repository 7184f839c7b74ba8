"""``serve --open``: the page in a browser. It needs the extra ``inspector``."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

from tests.support.screen import in_a_terminal

AGENT = """
from langgraph.graph import START, MessagesState, StateGraph

def say(state):
    return {"messages": [("ai", "hello")]}
graph = StateGraph(MessagesState).add_node("say", say).add_edge(START, "say").compile()
"""


def test_the_page_is_opened_and_the_banner_fits_a_narrow_terminal(tmp_path: Path) -> None:
    folder = tmp_path
    (folder / "my_agent.py").write_text(AGENT)
    (folder / "browser").write_text('#!/bin/sh\necho "$1" > opened.txt\n')
    (folder / "browser").chmod(0o755)
    given = ["serve", "my_agent:graph", "--port", "0", "--open", "--checkpointer", "memory"]
    with in_a_terminal(folder, *given, columns=40, BROWSER=f"{folder / 'browser'} %s") as (screen, process):
        screen.wait_for("hides it.\n")
        for _ in range(300):
            if (folder / "opened.txt").exists():
                break
            time.sleep(0.1)
        page = re.search(r"(?:page|inspector) (http://\S+)\n", screen.shown)
        assert page is not None
        assert (folder / "opened.txt").read_text() == f"{page[1]}\n"
        assert all(len(line) <= 40 for line in screen.shown.splitlines())
        process.send_signal(signal.SIGINT)
        screen.wait_for("stopped\n")
        assert process.wait(timeout=20) == 0
