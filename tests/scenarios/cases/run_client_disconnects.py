"""The client goes away while a node waits for its model: the server cancels the task that reads the stream."""

from __future__ import annotations

import asyncio

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.scenarios.kit import hello, streaming
from tests.scenarios.reading import of, texts

TITLE = "when the client disconnects the graph is cancelled and no task is left behind"
SOURCE = "https://github.com/TencentBlueKing/bk-lite/issues/5377"
LOG = []


def build():
    model = streaming(ids="all", script=[["first ", 20, "never"]])

    async def chat(state, config):
        try:
            r = await model.ainvoke(state["messages"], config)
            LOG.append("finished")
            return {"messages": [r]}
        except BaseException as e:
            LOG.append(type(e).__name__)
            raise

    g = StateGraph(MessagesState)
    g.add_node("chat", chat)
    g.add_edge(START, "chat")
    return g.compile(checkpointer=InMemorySaver())


async def drive(start):
    seen, before = [], asyncio.all_tasks()

    async def read():
        async for e in start(hello()[0]):
            seen.append(e)

    t = asyncio.create_task(read())
    for _ in range(300):
        await asyncio.sleep(0.01)
        if "first " in texts(seen).values():
            break
    t.cancel()
    try:
        await asyncio.wait_for(asyncio.shield(asyncio.gather(t, return_exceptions=True)), 3)
    except TimeoutError:
        LOG.append("the reader did not end")
    await asyncio.sleep(0.2)
    LOG.append([str(x.get_coro()) for x in asyncio.all_tasks() - before if not x.done()])
    return [seen]


def check(runs):
    p = []
    if "first " not in texts(runs[0]).values():
        p.append("nothing was streamed before the client left")
    if "finished" in LOG or "CancelledError" not in LOG:
        p.append(f"the node was not cancelled: {LOG}")
    if "the reader did not end" in LOG:
        p.append("cancelling does not end the run")
    if LOG[-1]:
        p.append(f"left behind: {LOG[-1]}")
    if of(runs[0], "RUN_FINISHED"):
        p.append("a cancelled run reported success")
    return p
