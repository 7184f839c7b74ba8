"""The rubric grader of deepagents: its thoughts are not in the chat, its feedback is not the user's."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from tests.conftest import Judge
from tests.support.graphs import Graph, scripted
from tests.support.two_sources import Source, hear
from yai_nexus_agentkit.testing import reasoning_part, tool_call_parts

rubric = pytest.importorskip("deepagents.middleware.rubric")


def verdict(result: str, call: str) -> list[Any]:
    passed = result == "satisfied"
    criterion = {"name": "It rhymes", "passed": passed, **({} if passed else {"gap": "It does not rhyme."})}
    said = {"result": result, "explanation": "I looked at the rhymes.", "criteria": [criterion]}
    return [reasoning_part("I am the grader. "), "I grade. ", *tool_call_parts("GraderResponse", said, call)]


def graded() -> Graph:
    grader = scripted(verdict("needs_revision", "call_1"), verdict("satisfied", "call_2"))
    made: Graph = create_agent(
        scripted("Roses.", "Roses, noses."),
        [],
        middleware=[rubric.RubricMiddleware(model=grader)],
        checkpointer=InMemorySaver(),
    )
    return made


@pytest.mark.filterwarnings("ignore:The middleware `RubricMiddleware` is in beta")
@pytest.mark.parametrize("source", ["events", "callbacks"])
async def test_the_grader_is_not_in_the_chat(judge: Judge, source: Source) -> None:
    heard = await hear(graded, source, judge, state={"rubric": "It must rhyme."})
    sent = str([e for e in heard.events if not e["type"].startswith(("STATE", "MESSAGES_SNAPSHOT"))])
    for thought in ("I am the grader", "I grade", "GraderResponse"):
        assert thought not in sent
    held = heard.views[-1]["messages"]
    assert [(m["role"], m["content"]) for m in held if m["role"] != "developer"] == [
        ("user", "hi"),
        ("assistant", "Roses."),
        ("assistant", "Roses, noses."),
    ]
    [feedback] = [m for m in held if m["role"] == "developer"]
    assert feedback["metadata"]["lc_source"] == rubric.RUBRIC_GRADER_MESSAGE_SOURCE
