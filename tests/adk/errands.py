"""The agent of `tests.support.errand_words` as one of google-adk, for the judges of the other wires: what it does
depends on the word that the user says."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

warnings.filterwarnings("ignore")

from google.adk.agents import Agent  # noqa: E402
from google.adk.models import BaseLlm, LlmRequest, LlmResponse  # noqa: E402
from google.adk.models.base_llm_connection import BaseLlmConnection  # noqa: E402
from google.adk.tools import FunctionTool  # noqa: E402
from google.genai import types  # noqa: E402

from yai_nexus_agentkit import AGUIAdapter, EventEmitter  # noqa: E402
from yai_nexus_agentkit.server import OpenAISettings, ServerSettings, add_ai_sdk_routes, create_app  # noqa: E402

UNICODE = "ä ß 漢字 😀 line\u2028sep par\u2029sep next\u0085line end"


def lookup(q: str) -> str:
    """Looks something up."""
    return "42"


def transfer(amount: int) -> str:
    """Moves money."""
    return f"moved {amount}"


def words(text: str) -> list[types.Part]:
    return [types.Part(text=f"{word} ") for word in text.split(" ")]


def thoughts(text: str) -> list[types.Part]:
    return [types.Part(text=f"{word} ", thought=True) for word in text.split(" ")]


def call(name: str, **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args=args))


def said(contents: list[types.Content]) -> list[str]:
    texts = ["".join(part.text or "" for part in content.parts or ()) for content in contents if content.role == "user"]
    return [text for text in texts if text]


def script(contents: list[types.Content]) -> tuple[list[Any], float]:
    """The model's next parts, and its pause between them."""
    answered = [part.function_response for part in contents[-1].parts or () if part.function_response]
    if answered:
        given = "; ".join(str((one.response or {}).get("result", one.response)) for one in answered)
        return words("It is 42." if all(o.name == "lookup" for o in answered) else f"The answer: {given}."), 0.02
    users = said(contents)
    many = " ".join(f"word{i}" for i in range(80))
    return {
        "think": ([*thoughts("Let me see now."), *words("Thought about it.")], 0.002),
        "backend": ([call("lookup", q="it")], 0.002),
        "ask": ([call("confirm", question="sure?")], 0.002),
        "approve": ([call("transfer", amount=5)], 0.002),
        "approve two": ([call("transfer", amount=5), call("transfer", amount=6)], 0.002),
        "slow": (words(many), 0.04),
        "slowask": ([*words(many[:300]), call("confirm", question="sure?")], 0.04),
        "slowthink": ([*thoughts(many), *words("There it is.")], 0.04),
        "fail": ([*words("So far so good."), RuntimeError("it broke")], 0.01),
        "state": (words("The state is 3."), 0.01),
        "count": (words(f"{len(users)} messages."), 0.002),
        "unicode": ([types.Part(text=UNICODE)], 0.002),
    }.get(users[-1].strip() if users else "", (words("Hello from the agent, this is one answer."), 0.01))


class Words(BaseLlm):
    model: str = "words"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts, pause = script(llm_request.contents)
        whole: list[types.Part] = []
        for part in parts:
            await asyncio.sleep(pause)
            if isinstance(part, Exception):
                raise part
            if stream and part.text:
                yield LlmResponse(content=types.Content(role="model", parts=[part.model_copy()]), partial=True)
            last = whole[-1] if whole else None
            if last is not None and last.text and part.text and last.thought == part.thought:
                whole[-1] = types.Part(text=last.text + part.text, thought=part.thought)
            else:
                whole.append(part)
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=5, candidates_token_count=5, total_token_count=10
        )
        yield LlmResponse(
            content=types.Content(role="model", parts=whole),
            partial=False,
            finish_reason=types.FinishReason.STOP,
            usage_metadata=usage,
        )

    @asynccontextmanager
    async def connect(self, llm_request: LlmRequest) -> AsyncIterator[BaseLlmConnection]:
        yield _Line(self)


class _Line(BaseLlmConnection):
    """A model in live mode that answers what it is told as it would a request."""

    def __init__(self, model: Words) -> None:
        self._model, self._contents = model, list[types.Content]()
        self._said: asyncio.Queue[LlmResponse | Exception | None] = asyncio.Queue()

    async def send_history(self, history: list[types.Content]) -> None:
        self._contents += history

    async def send_content(self, content: types.Content) -> None:
        self._contents.append(content)
        whole = None
        try:
            async for whole in self._model.generate_content_async(LlmRequest(contents=self._contents), stream=True):
                self._said.put_nowait(whole)
        except RuntimeError as error:
            self._said.put_nowait(error)
            return
        assert whole is not None
        self._contents.append(whole.content)
        if not any(part.function_call for part in whole.content.parts):
            self._said.put_nowait(LlmResponse(turn_complete=True))

    async def send_realtime(self, blob: Any) -> None:
        """It hears nothing."""

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        while (item := await self._said.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item

    async def close(self) -> None:
        self._said.put_nowait(None)


def noted(callback_context: Any) -> None:
    """For `state`: the state changes more than once in the run."""
    if callback_context.user_content and callback_context.user_content.parts[0].text == "state":
        EventEmitter().state({"n": 1})
        EventEmitter().emit("note", {"at": "once"})
        callback_context.state["n"] = 3


def build() -> Agent:
    tools = [lookup, FunctionTool(transfer, require_confirmation=True)]
    return Agent(name="agent", model=Words(), tools=tools, before_agent_callback=noted)


def quiet() -> None:
    """What is logged of runs that shall fail is of no interest."""
    for name in ("yai_nexus_agentkit", "google_adk"):
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False


def one_worker() -> Any:
    """A server whose runs go on when their viewers leave."""
    quiet()
    agent = AGUIAdapter(build())
    app = create_app(agent, settings=ServerSettings(disconnect="continue"), copilotkit="/copilotkit")
    for version in (5, 6, 7):
        settings = ServerSettings(ai_sdk_version=version)
        add_ai_sdk_routes(app, agent, f"/ai/{version}", settings=settings, name="agent", service=app.state.agui)
    return app


def live() -> Any:
    """A server whose agent is in live mode at ``/live``."""
    quiet()
    return create_app(AGUIAdapter(build()), live="/live")


def models() -> Any:
    """A server for OpenAI's clients. The key ``wrong`` is none."""
    quiet()
    keys = OpenAISettings(keys=lambda key: key != "wrong")
    return create_app({"my_agent": AGUIAdapter(build())}, openai=keys)
