"""A scripted model, agents like ADK's samples, and a client that talks to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from google.adk.agents import Agent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.models import BaseLlm, LlmCapabilities, LlmRequest, LlmResponse
from google.adk.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from google.genai import types

from tests.conftest import Judge
from tests.support.conformance import BOTH
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.testing import Run, WireEvent, record, run_input

__all__ = ["Scripted", "Talk", "calling", "of", "text_of", "thinking"]

Answer = str | Sequence[str | types.Part] | Exception | LlmResponse | Callable[[LlmRequest], Any]
Events = list[WireEvent]
HANGS = "hangs"
"""An answer that does not come."""
hanging: list[str] = []
"""The models that were asked for one."""


class Scripted(BaseLlm):
    """Gives one answer per call: pieces of text and parts; a response as it is; an exception; or what a function of the
    request returns. As a stream, each piece is a chunk, and the whole answer follows."""

    model: str = "scripted"
    answers: list[Any] = []
    requests: list[Any] = []
    pause: float = 0.0

    @property
    def capabilities(self) -> LlmCapabilities:
        return LlmCapabilities(output_schema_and_tools=False)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.requests.append(llm_request)
        answer = self.answers.pop(0)
        if answer == HANGS:
            hanging.append(self.model)
            await asyncio.sleep(60)
        if callable(answer):
            answer = answer(llm_request)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, LlmResponse):
            yield answer
            return
        parts = [types.Part(text=piece) if isinstance(piece, str) else piece for piece in answer]
        for part in parts if stream else ():
            await asyncio.sleep(self.pause)
            yield LlmResponse(content=types.Content(role="model", parts=[part.model_copy(deep=True)]), partial=True)
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=7, candidates_token_count=3, total_token_count=10
        )
        yield LlmResponse(
            content=types.Content(role="model", parts=_joined(parts)),
            partial=False,
            finish_reason=types.FinishReason.STOP,
            model_version=self.model,
            usage_metadata=usage,
        )


def _joined(parts: Sequence[types.Part]) -> list[types.Part]:
    whole: list[types.Part] = []
    for part in parts:
        last = whole[-1] if whole else None
        if last is not None and part.text and last.text and bool(part.thought) == bool(last.thought):
            whole[-1] = types.Part(text=last.text + part.text, thought=part.thought)
        else:
            whole.append(part.model_copy(deep=True))
    return whole


def model(*answers: Answer, pause: float = 0.0) -> Scripted:
    return Scripted(answers=list(answers), requests=[], pause=pause)


def thinking(text: str) -> types.Part:
    return types.Part(text=text, thought=True)


def calling(name: str, **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args=args))


def of(events: Events, *kinds: str) -> Events:
    return [event for event in events if event["type"] in kinds]


def text_of(events: Events) -> str:
    return "".join(event["delta"] for event in of(events, "TEXT_MESSAGE_CONTENT"))


class Talk:
    """A client of one thread. It sends back what it holds, and every run of it is judged."""

    def __init__(self, adapter: AGUIAdapter, judge: Judge, thread: str = "t", **more: Any) -> None:
        self.adapter, self._judge, self._thread, self._more = adapter, judge, thread, more
        self.runs: list[Run] = []
        self.messages: list[dict[str, Any]] = []
        self.state: Any = {}
        self.asked: list[dict[str, Any]] = []

    async def say(self, text: Any = "hi", **fields: Any) -> Events:
        """A message of the user's."""
        message = {"id": f"u{len(self.runs)}", "role": "user", "content": text}
        return await self.send([*self.messages, message], **fields)

    async def answer(self, payload: Any, **fields: Any) -> Events:
        """The same answer to all that was asked; None cancels."""
        status = "cancelled" if payload is None else "resolved"
        resume = [{"interruptId": asked["id"], "status": status, "payload": payload} for asked in self.asked]
        return await self.send(self.messages, resume=resume, **fields)

    async def results(self, results: Mapping[str, str], *more: Mapping[str, Any]) -> Events:
        """Results by the call's id."""
        made = [
            {"id": f"r{len(self.runs)}-{n}", "role": "tool", "toolCallId": call, "content": content}
            for n, (call, content) in enumerate(results.items())
        ]
        return await self.send([*self.messages, *made, *more])

    async def send(self, messages: Sequence[Mapping[str, Any]], **fields: Any) -> Events:
        given = {"thread_id": self._thread, "run_id": f"run-{len(self.runs)}", "state": self.state}
        run = await record(self.adapter, run_input(list(messages), **{**given, **self._more, **fields}))
        self.runs.append(run)
        pending = any("pendingToolCallIds" in (run["events"][-1].get("outcome") or {}) for run in self.runs)
        view = self._judge(self.runs, clients=BOTH[:1] if pending else BOTH).runs[-1]
        self.messages, self.state = list(view["messages"]), view["state"]
        self.asked = list(view.get("interrupts") or ())
        return run["events"]


# ---------------------------------------------------------------- agents like ADK's samples


def get_weather(city: str, tool_context: ToolContext) -> dict[str, Any]:
    """Weather of a city."""
    tool_context.state["last_city"] = city
    return {"city": city, "degrees": 21}


def weather() -> Agent:
    """Tools: an answer with thoughts, two calls at once, and the answer to their results."""
    first = [thinking("Two "), thinking("cities. "), "Let me ", "look. "]
    calls = [calling("get_weather", city="Paris"), calling("get_weather", city="Rome")]
    return Agent(name="weather", model=model([*first, *calls], ["Both ", "21."]), tools=[get_weather])


def pipeline() -> SequentialAgent:
    """A writer and a reviewer, one after the other, who share the state."""
    writer = Agent(name="writer", model=model(["A ", "draft"]), output_key="draft")
    reviewer = Agent(name="reviewer", model=model(["Good ", "draft"]), output_key="review")
    return SequentialAgent(name="pipeline", sub_agents=[writer, reviewer])


def research() -> ParallelAgent:
    """Two that work at once."""
    return ParallelAgent(
        name="research",
        sub_agents=[
            Agent(name="red", model=model(["red ", "one ", "two"], pause=0.002), output_key="red"),
            Agent(name="blue", model=model(["blue ", "one ", "two"], pause=0.003), output_key="blue"),
        ],
    )


def exit_loop(tool_context: ToolContext) -> dict[str, str]:
    """Leave the loop."""
    tool_context.actions.escalate = tool_context.actions.skip_summarization = True
    return {"status": "done"}


def refining() -> LoopAgent:
    """Writes until the critic leaves the loop."""
    critic = Agent(name="critic", model=model(["More."], ["Fine. ", calling("exit_loop")]), tools=[exit_loop])
    writer = Agent(name="author", model=model(["One."], ["Two."]))
    return LoopAgent(name="refining", sub_agents=[writer, critic], max_iterations=5)


def helpdesk() -> Agent:
    """Transfers to a specialist, who also answers the next message."""
    billing = Agent(name="billing", description="bills", model=model(["Your bill. "], ["Still billing."]))
    first = ["I transfer you. ", calling("transfer_to_agent", agent_name="billing")]
    return Agent(name="helpdesk", model=model(first), sub_agents=[billing])


def ask_boss(question: str) -> dict[str, str]:
    """Ask for approval."""
    return {"status": "pending", "ticket": "T1"}


def expenses() -> Agent:
    """A long running tool with a first result."""
    llm = model([calling("ask_boss", question="100?")], ["Waiting for approval."], ["It was approved."])
    return Agent(name="expenses", model=llm, tools=[LongRunningFunctionTool(ask_boss)])


WIPED: list[str] = []


def wipe(path: str) -> dict[str, str]:
    """Delete a folder."""
    WIPED.append(path)
    return {"wiped": path}


def cleaner(*answers: Answer) -> Agent:
    """A tool that needs confirmation."""
    llm = model([calling("wipe", path="/x")], *(answers or (["Done."],)))
    return Agent(name="cleaner", model=llm, tools=[FunctionTool(wipe, require_confirmation=True)])


async def draw(tool_context: ToolContext) -> dict[str, int]:
    """Draw a picture."""
    version = await tool_context.save_artifact(
        "cat.png", types.Part(inline_data=types.Blob(data=b"\x89PNG", mime_type="image/png"))
    )
    return {"version": version}


def artist() -> Agent:
    """Saves an artifact."""
    return Agent(name="artist", model=model([calling("draw")], ["A cat."]), tools=[draw])
