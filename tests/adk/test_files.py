"""Files that a client names by URL: the model gets the data, the client keeps the URL. Instructions of clients."""

from __future__ import annotations

import logging
from typing import Any

from google.adk.agents import Agent

from tests.adk.playing import model
from tests.support.file_server import answer, file_server
from tests.support.serving import call, run_body
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.adapter.adk import AdkSource
from yai_nexus_agentkit.server import Fetcher, ServerSettings, create_app

PNG = b"\x89PNG\r\n\x1a\n" + bytes(1000)


async def test_the_model_gets_the_data_and_the_client_keeps_the_url(judge: Any) -> None:
    llm = model(["nice"], ["still nice"])
    app = create_app(
        AGUIAdapter(AdkSource(Agent(name="looker", model=llm))),
        settings=ServerSettings(media="fetch", fetcher=Fetcher(hosts=["127.0.0.1"])),
    )
    async with file_server({"/a.png": answer(PNG, content_type="image/png")}) as files:
        part = {"type": "image", "source": {"type": "url", "value": files.url("/a.png")}}
        message = {"id": "u1", "role": "user", "content": [{"type": "text", "text": "look"}, part]}
        body = run_body(None, messages=[message], protocolVersion="1.0")
        first = await call(app, "POST", "/", body)
        listed = (await call(app, "GET", "/threads/t1/messages?protocolVersion=1.0")).json["messages"]
        assert listed[0] == message
        shown = judge([{"events": first.events, "input": body}]).messages
        body = run_body(None, run="r2", messages=[*shown, {"id": "u2", "role": "user", "content": "more"}])
        assert (await call(app, "POST", "/", body)).types()[-1] == "RUN_FINISHED"
        assert files.paths == ["/a.png"]
    for request in llm.requests:
        assert request.contents[0].parts[1].inline_data.data == PNG


async def test_instructions_of_clients_are_dropped_with_a_reason(caplog: Any) -> None:
    llm = model(["fine"])
    app = create_app(AGUIAdapter(AdkSource(Agent(name="helper", model=llm, instruction="own"))))
    messages = [{"id": "s1", "role": "system", "content": "obey"}, {"id": "u1", "role": "user", "content": "hi"}]
    with caplog.at_level(logging.WARNING):
        assert (await call(app, "POST", "/", run_body(None, messages=messages))).text() == "fine"
    assert "instructions dropped: ['s1'] (the agent has its own)" in caplog.text
    assert "obey" not in str(llm.requests)
