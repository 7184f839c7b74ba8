"""Helpers for tests of your own graph: a scripted chat model, one run as wire events, conformance checks, and the
overhead of the adapter.

    from yai_nexus_agentkit import AGUIAdapter
    from yai_nexus_agentkit.testing import ScriptedChatModel, assert_conformant, collect, tool_call_parts

    async def test_my_graph():
        model = ScriptedChatModel(script=[tool_call_parts("add", {"a": 1, "b": 2}, "call_1"), ["It is ", "3."]])
        events = await collect(AGUIAdapter(build_graph(model)), "what is 1 + 2?")
        assert_conformant(events)

Nothing here is imported by the rest of the package.
"""

from __future__ import annotations

from yai_nexus_agentkit.testing.conformance import AnyRun, assert_conformant, conformance_problems, normalise, parse_sse
from yai_nexus_agentkit.testing.measure import OverBudget, Overhead, measure_overhead
from yai_nexus_agentkit.testing.parts import (
    Part,
    Provider,
    ai_message,
    interleave,
    reasoning_part,
    redacted_part,
    text_part,
    tool_call_part,
    tool_call_parts,
    tool_calls_part,
)
from yai_nexus_agentkit.testing.runs import Adapter, Request, Run, WireEvent, collect, record, run_input, wire
from yai_nexus_agentkit.testing.scripted import Entry, ScriptedChatModel

__all__ = [
    "Adapter",
    "AnyRun",
    "Entry",
    "OverBudget",
    "Overhead",
    "Part",
    "Provider",
    "Request",
    "Run",
    "ScriptedChatModel",
    "WireEvent",
    "ai_message",
    "assert_conformant",
    "collect",
    "conformance_problems",
    "interleave",
    "measure_overhead",
    "normalise",
    "parse_sse",
    "reasoning_part",
    "record",
    "redacted_part",
    "run_input",
    "text_part",
    "tool_call_part",
    "tool_call_parts",
    "tool_calls_part",
    "wire",
]
