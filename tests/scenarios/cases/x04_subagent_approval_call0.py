"""Every model numbers its calls from call_0 (as some local servers do); a subagent's tool needs approval."""

from __future__ import annotations

from deepagents import create_deep_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from tests.scenarios.checks import no_duplicates, paused, success
from tests.scenarios.kit import answers, stream_calls, streaming, turn, user
from tests.scenarios.reading import plain, results, tool_calls, view

TITLE = "a subagent's approved call and the delegation share the raw id call_0: each gets its own result"
SOURCE = "own"
HI = [user("u1", "hi")]
RAN = []


@tool
async def wipe(q: str) -> str:
    """Wipe."""
    RAN.append("wipe")
    return f"wiped {q}"


def build():
    inner = streaming(
        ids="all",
        label="s2",
        script=[["Two wipes. ", *stream_calls(("wipe", {"q": "y"}, "call_0"))], ["Two is done."]],
    )
    delegation = {"description": "b", "subagent_type": "two"}
    main = streaming(
        ids="all", label="main", script=[["Go. ", *stream_calls(("task", delegation, "call_0"))], ["Done."]]
    )
    two = {"name": "two", "description": "x", "system_prompt": "r", "tools": [wipe], "model": inner}
    return create_deep_agent(
        model=main, tools=[], subagents=[{**two, "interrupt_on": {"wipe": True}}], checkpointer=InMemorySaver()
    )


def turns():
    approval = {"decisions": [{"type": "approve"}]}
    return [
        turn("r1", HI, protocolVersion="1.0"),
        lambda runs: turn("r2", view(runs[0], HI), protocolVersion="1.0", resume=answers(runs[0], approval)),
        lambda runs: turn("r3", view(runs[1], view(runs[0], HI)), protocolVersion="1.0"),
    ]


def check(runs):
    p = paused(runs[0], 1)
    if p:
        return p
    p += success(runs[1], "r2")
    if RAN != ["wipe"]:
        p.append(f"ran {RAN}")
    calls = {c["name"]: i for i, c in tool_calls(runs[0]).items()}
    found = results(runs[1])
    if [t for i, t in found if i == calls["task"]] != ["Two is done."]:
        p.append(f"results {found}, calls {calls}")
    if [t for i, t in found if i == calls["wipe"]] != ["wiped y"]:
        p.append(f"results {found}, calls {calls}")
    shown = view(runs[1], view(runs[0], HI))
    p += no_duplicates(shown, "list")
    got = sorted(f"{m['role']}:{plain(m.get('content'))}" for m in shown)
    want = [
        "assistant:Done.",
        "assistant:Go. ",
        "assistant:Two is done.",
        "assistant:Two wipes. ",
        "tool:Two is done.",
        "tool:wiped y",
        "user:hi",
    ]
    if got != want:
        p.append(f"list {got}")
    return p
