"""Driver. A chat model that plays a script: real LangChain streaming, no network, no key."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Literal, Self, TypeAlias

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, message_chunk_to_message
from langchain_core.messages.ai import UsageMetadata, add_ai_message_chunks
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr, model_validator

from yai_nexus_agentkit.testing.parts import Part

__all__ = ["Entry", "ScriptedChatModel"]

Entry: TypeAlias = Part | Sequence[Part] | Callable[[list[BaseMessage]], "Part | Sequence[Part]"]
"""One answer: a part, its parts in order, or a function of the messages that returns either."""


class ScriptedChatModel(BaseChatModel):
    """A chat model that answers from a script, part by part.

    Example:
        >>> model = ScriptedChatModel(script=[tool_call_parts("add", {"a": 1, "b": 2}, "call_1"), ["It is ", "3."]])

    Use a fresh model for each test. The model object holds the position in a list script, and `calls`: runs that share
    it take the entries in the order of their calls. For concurrent runs give a *function* script, which depends on the
    messages only.

    Raises:
        TypeError: an argument is unknown.
        AssertionError (when called): the script has fewer entries than the model got calls.
    """

    script: Any
    """A list with one `Entry` per call, or a function of the messages that returns the parts of any call."""

    streaming: bool = True
    """False: a model that cannot stream. Each call gives one whole message, `astream` included."""

    ids: Literal["all", "first"] | None = None
    """The provider's message id, ``<label>-<n>``: on every chunk, on the first one, or none (LangChain makes one)."""

    pause: float = 0.0
    """Seconds to wait before every chunk."""

    seed: int | None = None
    """Cut the script's texts at pseudo-random places (1 to 8 characters); the same seed gives the same chunks."""

    usage: UsageMetadata | None = None
    """Token counts of every call; sent in a last chunk without content, as OpenAI does."""

    label: str = "scripted"
    """The name in message ids and error texts."""

    model_name: str = "scripted"
    """Reported in LangChain's metadata (``ls_model_name``) and, when `usage` is given, in the response metadata."""

    provider: str | None = None
    """``response_metadata["model_provider"]``, by which LangChain chooses how to read provider content blocks."""

    _counter: Any = PrivateAttr(default_factory=itertools.count)
    _calls: dict[int, list[BaseMessage]] = PrivateAttr(default_factory=dict)
    _tools: dict[int, list[str]] = PrivateAttr(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        """LangChain's models ignore arguments that they do not know; here one was misspelt. Raises TypeError."""
        known = {name for key, about in cls.model_fields.items() for name in (key, about.alias)}
        for name in given if isinstance(given, dict) else ():
            if name not in known:
                own = ", ".join(name for name in ScriptedChatModel.__annotations__ if not name.startswith("_"))
                raise TypeError(f"{cls.__name__} has no argument {name!r}; its own are {own}")
        return given

    @model_validator(mode="after")
    def _cannot_stream(self) -> Self:
        if not self.streaming:
            self.disable_streaming = True
        return self

    @property
    def calls(self) -> list[list[BaseMessage]]:
        """The messages of every call so far, in the order of the calls."""
        return [self._calls[n] for n in sorted(self._calls)]

    @property
    def call_tools(self) -> list[list[str]]:
        """The names of the tools that were bound to the model at every call so far."""
        return [self._tools[n] for n in sorted(self._tools)]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        # Part of LangChain's cache key, so that two scripted models do not share cached answers.
        return {"label": self.label, "model_name": self.model_name}

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """A model with these tools. The script decides what is called; the names are recorded in `call_tools`."""
        if tool_choice is not None:
            kwargs["tool_choice"] = tool_choice
        given = [tool if _provider_tool(tool) else convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=given, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        said: list[AIMessage] = []
        for step in self._play(messages, kwargs):
            if isinstance(step, float):
                time.sleep(step)
            else:
                said.append(step)
        return _result(said)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        said: list[AIMessage] = []
        for step in self._play(messages, kwargs):
            if isinstance(step, float):
                await asyncio.sleep(step)
            else:
                said.append(step)
        return _result(said)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for step in self._play(messages, kwargs):
            if isinstance(step, float):
                time.sleep(step)
            else:
                yield ChatGenerationChunk(message=_chunk(step))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for step in self._play(messages, kwargs):
            if isinstance(step, float):
                await asyncio.sleep(step)
            else:
                yield ChatGenerationChunk(message=_chunk(step))

    def _play(self, messages: list[BaseMessage], kwargs: dict[str, Any]) -> Iterator[AIMessage | float]:
        """The chunks and whole messages of the next call, and pauses in seconds. Raises the script's exceptions."""
        number = next(self._counter)
        self._calls[number] = list(messages)
        self._tools[number] = [_tool_name(tool) for tool in kwargs.get("tools") or []]
        first, usage = True, self.usage
        for part in self._parts(number, messages):
            if isinstance(part, BaseException):
                raise part
            if isinstance(part, (int, float)):
                yield float(part)
                continue
            if self.pause:
                yield self.pause
            message = self._labelled(_own(part), number, first)
            if usage and not isinstance(message, AIMessageChunk):
                self._count(message, usage)
                usage = None
            yield message
            first = False
        if usage:
            yield self._count(self._labelled(AIMessageChunk(content=""), number, first), usage)

    def _parts(self, number: int, messages: list[BaseMessage]) -> Iterator[Part]:
        """The parts of a call, cut into pieces where there is a seed."""
        entry: Any = self.script
        if not callable(entry):
            if number >= len(entry):
                raise AssertionError(f"model {self.label!r} got call {number + 1}, its script has {len(entry)} entries")
            entry = entry[number]
        if callable(entry):
            entry = entry(messages)
        for position, part in enumerate(entry if isinstance(entry, (list, tuple)) else [entry]):
            if self.seed is None or not isinstance(part, str):
                yield part
                continue
            chance = random.Random(f"{self.seed}:{number}:{position}")
            while part:
                size = chance.randint(1, 8)
                yield part[:size]
                part = part[size:]

    def _count(self, message: AIMessage, usage: UsageMetadata) -> AIMessage:
        message.usage_metadata = message.usage_metadata or usage
        message.response_metadata.setdefault("model_name", self.model_name)
        return message

    def _labelled(self, message: AIMessage, number: int, first: bool) -> AIMessage:
        if message.id is None and (self.ids == "all" or (self.ids == "first" and first)):
            message.id = f"{self.label}-{number}"
        if self.provider is not None:
            message.response_metadata.setdefault("model_provider", self.provider)
        return message


def _own(part: str | AIMessage) -> AIMessage:
    """A message object of its own: LangChain assigns ids in place, and a script may be played again."""
    return AIMessageChunk(content=part) if isinstance(part, str) else part.model_copy(deep=True)


def _chunk(message: AIMessage) -> AIMessageChunk:
    if isinstance(message, AIMessageChunk):
        return message
    calls = [(call["name"], json.dumps(call["args"]), call["id"]) for call in message.tool_calls]
    calls += [(call["name"] or "", call["args"] or "", call["id"]) for call in message.invalid_tool_calls]
    fields = message.model_dump(exclude={"type", "tool_calls", "invalid_tool_calls"})
    chunks = [tool_call_chunk(name=name, args=args, id=id, index=n) for n, (name, args, id) in enumerate(calls)]
    return AIMessageChunk(**fields, tool_call_chunks=chunks)


def _result(said: list[AIMessage]) -> ChatResult:
    """One message of all chunks. A single whole message stays as it is, with its invalid calls."""
    if len(said) == 1 and not isinstance(said[0], AIMessageChunk):
        return ChatResult(generations=[ChatGeneration(message=said[0])])
    whole = add_ai_message_chunks(AIMessageChunk(content=""), *map(_chunk, said))
    return ChatResult(generations=[ChatGeneration(message=message_chunk_to_message(whole))])


def _provider_tool(tool: Any) -> bool:
    """A tool that the provider runs itself, such as ``{"type": "web_search"}``: passed on as it is."""
    return isinstance(tool, dict) and "type" in tool and tool["type"] != "function"


def _tool_name(tool: Any) -> str:
    if not isinstance(tool, dict):
        return str(getattr(tool, "name", tool))
    function = tool.get("function")
    return str(function["name"] if isinstance(function, dict) else tool.get("name") or tool.get("type"))
