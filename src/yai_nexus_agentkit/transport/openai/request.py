"""Pure. The body of a chat completion, read: OpenAI's messages, tools and parameters as AG-UI has them.

Facts: OpenAI's API reference, ``POST /chat/completions``; and what Dify, Open WebUI, LibreChat, LiteLLM and LangChain
send. A number that must be whole may be ``100.0``: many languages write it so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from yai_nexus_agentkit.protocol.json.json_safe import clean_text, json_text
from yai_nexus_agentkit.protocol.parts import part_from_block
from yai_nexus_agentkit.transport.openai.functions import as_tool_messages
from yai_nexus_agentkit.transport.wire import Refusal

__all__ = ["Calls", "ChatRequest", "read_chat"]

Calls: TypeAlias = Literal["any", "one", "function"]
"""The calls that an answer may have: any number, one, or one in the older form, as `function_call`."""

_ROLES = ("system", "developer", "user", "assistant", "tool")
INSTRUCTIONS = ("system", "developer")
_NUMBERS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("temperature", "top_p", "presence_penalty", "frequency_penalty"), (int, float)),
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "seed", "n", "top_logprobs"), (int,)),
}
_TYPES: Mapping[str, tuple[type, ...]] = {
    "model": (str,), "user": (str,), "safety_identifier": (str,), "stream": (bool,), "stream_options": (dict,),
    "tools": (list,), "functions": (list,), "tool_choice": (str, dict), "function_call": (str, dict),
    "modalities": (list,), "parallel_tool_calls": (bool,),
}  # fmt: skip
_OWN = frozenset({"messages", "model", "tools", "functions", "stream", "stream_options", "n"})
"""Members that are not handed on to the agent."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A body, understood."""

    model: str
    """Empty: the default."""
    messages: Sequence[Mapping[str, Any]]
    """As AG-UI's JSON, without ids."""
    tools: Sequence[Mapping[str, Any]]
    """The caller's, as AG-UI's JSON: those that may be called."""
    calls: Calls
    stream: bool
    include_usage: bool
    """Of a stream."""
    user: str
    parameters: Mapping[str, Any]
    """Sampling and other parameters, as they were posted."""

    @property
    def length(self) -> int:
        """Characters of all text."""
        return sum(len(text) for message in self.messages for text in texts_of(message))


def texts_of(message: Any) -> Iterator[str]:
    """The texts of a message: AG-UI's JSON or one of its models."""
    content = message.get("content") if isinstance(message, Mapping) else message.content
    for part in content if isinstance(content, list) else (content,):
        text = part.get("text") if isinstance(part, Mapping) else getattr(part, "text", part)
        if isinstance(text, str):
            yield text


def read_chat(data: Any) -> ChatRequest:
    """Read a body. Raises `Refusal` 400 that names the member."""
    if not isinstance(data, Mapping):
        raise Refusal(400, "INVALID_INPUT", "the body is not a JSON object")
    given = {key: _whole(key, value) for key, value in data.items() if value is not None}
    for key, types in (*_TYPES.items(), *_NUMBERS.items()):
        value = given.get(key)
        if value is not None and (not isinstance(value, types) or (isinstance(value, bool) and bool not in types)):
            raise _wrong(f"/{key}", f"{key} must be {_NAMES[types]}")
    if given.get("n", 1) != 1:
        raise _wrong("/n", "one answer is given for a request: n must be 1")
    if "audio" in given.get("modalities", ()):
        raise _wrong("/modalities", "answers are text: modalities must be without 'audio'")
    messages = given.get("messages")
    if not isinstance(messages, list) or not messages:
        raise _wrong("/messages", "messages must be a list with at least one message")
    older = "functions" in given and "tools" not in given
    one = given.get("parallel_tool_calls") is False
    return ChatRequest(
        model=clean_text(given.get("model", "")),
        messages=[_message(message, f"/messages/{n}") for n, message in enumerate(as_tool_messages(messages))],
        tools=_offered(given, "functions" if older else "tools", "function_call" if older else "tool_choice"),
        calls="function" if older else "one" if one else "any",
        stream=given.get("stream", False),
        include_usage=given.get("stream_options", {}).get("include_usage") is True,
        user=given.get("user") or given.get("safety_identifier", ""),
        parameters={key: value for key, value in given.items() if key not in _OWN},
    )


def _whole(key: str, value: Any) -> Any:
    """A number as the whole one that it is."""
    return int(value) if _NUMBERS.get(key) == (int,) and isinstance(value, float) and value.is_integer() else value


def _offered(given: Mapping[str, Any], tools: str, choice: str) -> list[Mapping[str, Any]]:
    """The tools that may be called. `tools`, `choice`: the names of their members."""
    read = [_tool(tool, f"/{tools}/{n}", older=tools == "functions") for n, tool in enumerate(given.get(tools, ()))]
    chosen = _chosen(given.get(choice))
    if chosen and not chosen <= {tool["name"] for tool in read}:
        raise _wrong(f"/{choice}", f"{choice} names a tool that is not among {tools}")
    return read if chosen is None else [tool for tool in read if tool["name"] in chosen]


def _chosen(choice: Any) -> set[str] | None:
    """The names of the tools that a `tool_choice` leaves; None: all. That a tool must be called is up to the agent."""
    if not isinstance(choice, Mapping):
        return set() if choice == "none" else None
    allowed = choice.get("allowed_tools")
    listed = allowed.get("tools") if isinstance(allowed, Mapping) else [choice]
    functions = [entry.get("function", entry) for entry in listed or () if isinstance(entry, Mapping)]
    named = {function["name"] for function in functions if isinstance(function, Mapping) and "name" in function}
    return named if named or allowed is not None or choice.get("type") == "none" else None


_NAMES = {(str,): "a string", (bool,): "true or false", (dict,): "an object", (list,): "a list",
          (int,): "a whole number", (int, float): "a number", (str, dict): "a string or an object"}  # fmt: skip


def _wrong(path: str, text: str) -> Refusal:
    return Refusal(400, "INVALID_INPUT", text, path=path)


def _message(message: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(message, Mapping):
        raise _wrong(path, "a message must be an object")
    role, content = message.get("role"), message.get("content")
    if role == "tool" and content is None:
        content = ""
    if role not in _ROLES:
        raise _wrong(f"{path}/role", f"the role must be one of {', '.join(_ROLES)}")
    if role == "user" or (role == "tool" and _has_media(content)):
        read: dict[str, Any] = {"content": _content(content, f"{path}/content")}
    else:
        read = {"content": _text(content, f"{path}/content", answer=role == "assistant")}
    if role == "assistant":
        refused = message.get("refusal")
        read["content"] = read["content"] or (clean_text(refused) if isinstance(refused, str) else "")
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list):
            raise _wrong(f"{path}/tool_calls", "tool_calls must be a list")
        read["toolCalls"] = [_call(call, f"{path}/tool_calls/{n}") for n, call in enumerate(calls)]
    if role == "tool":
        if not isinstance(message.get("tool_call_id"), str):
            raise _wrong(f"{path}/tool_call_id", "tool_call_id must be a string")
        read["toolCallId"] = message["tool_call_id"]
    if isinstance(name := message.get("name"), str) and role != "tool":
        read["name"] = name
    return {"role": role, **read}


def _content(content: Any, path: str) -> str | list[Any]:
    """A user's: text, or text and media."""
    if isinstance(content, str):
        return clean_text(content)
    if not isinstance(content, list) or not content:
        raise _wrong(path, "content must be a string or a list of parts")
    parts: list[Any] = []
    for n, block in enumerate(content):
        part = part_from_block(_by_media_type(block) if isinstance(block, Mapping) else block)
        if part is None:
            kind = block.get("type") if isinstance(block, Mapping) else type(block).__name__
            raise _wrong(f"{path}/{n}", f"this part, of type {str(kind)[:100]!r}, cannot be read")
        parts.append(part)
    return parts


def _by_media_type(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """Dify sends video and audio as ``image_url``: the media type of the data decides."""
    inner = block.get("image_url") if block.get("type") == "image_url" else None
    url = inner.get("url") if isinstance(inner, Mapping) else inner
    if isinstance(url, str) and url.startswith("data:") and not url.startswith("data:image/"):
        return {"type": "file", "file": {"file_data": url}}
    return block


def _has_media(content: Any) -> bool:
    """A result is more than text: tools of the caller take pictures, for example of a screen."""
    return isinstance(content, list) and any(isinstance(b, Mapping) and _written(b) is None for b in content)


def _text(content: Any, path: str, *, answer: bool) -> str:
    """Of a message that has no media. An `answer` may have no text; pictures and thoughts of other models, which talked
    with the user before, are left out of it."""
    if content is None and answer:
        return ""
    if isinstance(content, str):
        return clean_text(content)
    if not isinstance(content, list):
        raise _wrong(path, "content must be a string or a list of text parts")
    texts: list[str] = []
    for n, block in enumerate(content):
        text = _written(block) if isinstance(block, Mapping) else block if isinstance(block, str) else None
        if text is not None:
            texts.append(clean_text(text))
        elif not (answer and isinstance(block, Mapping)):
            raise _wrong(f"{path}/{n}", "this part is not text")
    return "".join(texts)


def _written(block: Mapping[str, Any]) -> str | None:
    """The text of a part; None for another one."""
    return next((text for name in ("text", "refusal") if isinstance(text := block.get(name), str)), None)


def _call(call: Any, path: str) -> Mapping[str, Any]:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(call.get("id"), str):
        raise _wrong(path, "a tool call must have an id and a function")
    name, arguments = function.get("name"), function.get("arguments")
    if arguments is None or isinstance(arguments, Mapping):  # of models that have no parameters, or no JSON text
        arguments = json_text(arguments or {})
    if not isinstance(name, str) or not isinstance(arguments, str):
        raise _wrong(f"{path}/function", "a function must have a name and arguments, both strings")
    return {"id": call["id"], "type": "function", "function": {"name": name, "arguments": arguments}}


def _tool(tool: Any, path: str, *, older: bool) -> Mapping[str, Any]:
    function = {"function": tool} if older else tool
    function = function.get("function") if isinstance(function, Mapping) else None
    if not isinstance(function, Mapping):
        raise _wrong(path, "a function must be an object" if older else "only tools of type 'function' are supported")
    path = path if older else f"{path}/function"
    name, parameters = function.get("name"), function.get("parameters")
    if not isinstance(name, str) or not name:
        raise _wrong(f"{path}/name", "a tool must have a name")
    if parameters is not None and not isinstance(parameters, Mapping):
        raise _wrong(f"{path}/parameters", "parameters must be a JSON Schema")
    return {"name": name, "description": function.get("description") or "", "parameters": parameters or {}}
