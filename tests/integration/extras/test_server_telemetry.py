"""One OpenTelemetry span per run, parent of the graph's own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.graph import MessagesState
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.support.graphs import in_a_row
from tests.support.serving import call, failing, post, run_body, talker
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.server import create_app

_EXPORTER = InMemorySpanExporter()


@pytest.fixture
def spans() -> InMemorySpanExporter:
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(_EXPORTER))
        trace.set_tracer_provider(provider)
    _EXPORTER.clear()
    return _EXPORTER


def run_span(spans: InMemorySpanExporter) -> ReadableSpan:
    (found,) = [span for span in spans.get_finished_spans() if span.name == "agui.run"]
    return found


def traced() -> Any:
    async def agent(state: MessagesState) -> dict[str, Any]:
        with trace.get_tracer("mine").start_as_current_span("my work"):
            await asyncio.sleep(0)
        return {"messages": [("ai", "done")]}

    return in_a_row({"agent": agent}, checkpointer=None)


async def test_a_run_is_a_span_with_its_figures(spans: InMemorySpanExporter) -> None:
    done = await call(create_app(AGUIAdapter(talker(3))), "POST", "/", run_body(thread="t1", run="r1"))
    span = run_span(spans)
    sent = dict(span.attributes or {})
    assert sent["agui.thread_id"] == "t1"
    assert sent["agui.run_id"] == "r1"
    assert sent["agui.agent"] == "agent"
    assert sent["agui.outcome"] == "success"
    assert sent["agui.events"] == len(done.events)
    assert 0 < sent["agui.first_event_seconds"] < 5  # type: ignore[operator]
    assert sent["agui.bytes"] == len(done.body)
    assert span.status.is_ok or span.status.is_unset


async def test_the_graph_s_spans_are_its_children(spans: InMemorySpanExporter) -> None:
    await call(create_app(AGUIAdapter(traced())), "POST", "/", run_body())
    (inner,) = [span for span in spans.get_finished_spans() if span.name == "my work"]
    outer = run_span(spans)
    assert inner.parent is not None
    assert inner.parent.span_id == outer.context.span_id


async def test_the_caller_s_trace_goes_on(spans: InMemorySpanExporter) -> None:
    headers = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    await call(create_app(AGUIAdapter(talker(1))), "POST", "/", run_body(), headers)
    span = run_span(spans)
    assert f"{span.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert span.parent is not None


async def test_failed_and_abandoned_runs_say_so(spans: InMemorySpanExporter, caplog: pytest.LogCaptureFixture) -> None:
    failed = await call(create_app(AGUIAdapter(failing(ValueError("x")))), "POST", "/", run_body())
    span = run_span(spans)
    assert dict(span.attributes or {})["agui.error_code"] == "AGENT_ERROR"
    assert not span.status.is_ok
    assert f"{span.context.trace_id:032x}" in failed.events[-1]["message"], "the id that the client sees is the trace"

    spans.clear()
    exchange = post(create_app(AGUIAdapter(talker(200, 0.02))), run_body())
    await exchange.until(lambda it: b"TEXT_MESSAGE_CONTENT" in it.body)
    exchange.disconnect()
    await exchange.end()
    assert dict(run_span(spans).attributes or {})["agui.outcome"] == "abandoned"


async def test_concurrent_runs_have_spans_of_their_own(spans: InMemorySpanExporter) -> None:
    app = create_app(AGUIAdapter(traced()))
    await asyncio.gather(*(call(app, "POST", "/", run_body(thread=f"t{n}", run=f"r{n}")) for n in range(10)))
    outer = {span.context.span_id: span for span in spans.get_finished_spans() if span.name == "agui.run"}
    inner = [span for span in spans.get_finished_spans() if span.name == "my work"]
    assert len(outer) == len(inner) == 10
    assert {span.parent.span_id for span in inner if span.parent is not None} == set(outer)
