"""`measure_overhead` on a thread whose conversation is kept as its changes: the run sees all of it."""

from __future__ import annotations

from deepagents import create_deep_agent
from langgraph.checkpoint.memory import InMemorySaver

from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.testing import ScriptedChatModel, collect, measure_overhead, run_input


async def test_the_history_of_a_deep_agent_is_part_of_the_run() -> None:
    seen: list[int] = []

    def count(messages: list[object]) -> list[str]:
        seen.append(len(messages))
        return ["counted"]

    graph = create_deep_agent(model=ScriptedChatModel(script=count), checkpointer=InMemorySaver())
    await collect(AGUIAdapter(graph), run_input("first", thread_id="t"))
    await collect(AGUIAdapter(graph), run_input([{"id": "u2", "role": "user", "content": "second"}], thread_id="t"))
    more = run_input([{"id": "u3", "role": "user", "content": "third"}], thread_id="t")

    overhead = await measure_overhead(graph, more, repeats=1, max_overhead_us=None)

    assert overhead.faithful
    assert seen[2] == seen[1] + 2 == seen[0] + 4
    await collect(AGUIAdapter(graph), more)
    assert seen[3] == seen[2]  # the measured run left nothing in the thread
