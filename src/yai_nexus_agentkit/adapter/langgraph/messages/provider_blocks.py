"""Pure. The shapes in which providers write calls of their own tools, and media, into LangChain messages.

`SHAPES` has one entry per shape, for both directions. The tools run at the provider: a message holds the call and its
result. A provider takes both back in its own shape only.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from yai_nexus_agentkit.protocol.json.json_safe import json_text
from yai_nexus_agentkit.protocol.parts import MediaPart, part_from_block

__all__ = ["BY_NAME", "KINDS", "Answered", "Argued", "Called", "Media", "Piece", "read_audio", "shape_of"]


class Called(NamedTuple):
    """A call of a tool that the provider runs."""

    id: str
    name: str
    args: Any
    """A mapping or text. None: the text comes in pieces (`Argued`)."""
    form: str
    """Name of the shape."""
    rest: Mapping[str, Any]
    """The block's other members."""
    key: Any = None
    """The block's index, by which pieces of arguments name the call."""


class Argued(NamedTuple):
    """A piece of the argument text of such a call, or of one of the application's."""

    key: Any
    text: str


class Answered(NamedTuple):
    """The result of such a call."""

    id: str
    """Empty: of the call before."""
    content: Any
    form: str
    rest: Mapping[str, Any]
    failed: bool = False


class Media(NamedTuple):
    """A picture, sound, video or file."""

    part: MediaPart


Piece: TypeAlias = Called | Argued | Answered | Media
Block: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """One way in which a provider writes a call, its result, or both."""

    name: str
    """The block's ``type``."""
    read: Callable[[Block], Sequence[Piece]]
    call: Callable[[Called], Block] | None = None
    """Makes the block of a call. Its arguments are a mapping."""
    result: Callable[[Answered], Block] | None = None
    """Makes the block of a result."""
    both: Callable[[Called, Answered | None], Block] | None = None
    """Makes the block of a call with its result."""
    version: str | None = None
    """``output_version`` of a message with such blocks."""


def _rest(block: Block, *known: str) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key not in known and key not in ("type", "index")}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


# ---------------------------------------------------------------------- Anthropic


def _read_use(block: Block) -> Sequence[Piece]:
    """``input`` is whole, or empty and followed by ``partial_json``, which LangChain merges into the block."""
    key, given, more = block.get("index"), block.get("input"), _text(block.get("partial_json"))
    rest = _rest(block, "id", "name", "input", "partial_json")
    call = Called(_text(block.get("id")), _text(block.get("name")), given or None, block["type"], rest, key)
    return [call, Argued(key, more)] if more and not given else [call]


def _write_use(call: Called) -> Block:
    return {"type": call.form, "id": call.id, "name": call.name, "input": call.args, **call.rest}


def _read_delta(block: Block) -> Sequence[Piece]:
    return [Argued(block.get("index"), _text(block.get("partial_json")))]


def _read_result(block: Block) -> Sequence[Piece]:
    content = block.get("content")
    kind = content.get("type") if isinstance(content, Mapping) else None
    failed = bool(block.get("is_error")) or (isinstance(kind, str) and kind.endswith("_error"))
    rest = _rest(block, "tool_use_id", "content")
    return [Answered(_text(block.get("tool_use_id")), content, block["type"], rest, failed)]


def _write_result(found: Answered) -> Block:
    return {"type": found.form, "tool_use_id": found.id, "content": found.content, **found.rest}


# ---------------------------------------------------------------------- OpenAI Responses


class _Item(NamedTuple):
    """An output item: a call with its result."""

    tool: str
    """Empty: the item says it."""
    given: str
    """The member with the arguments."""
    wrapped: bool
    """The arguments have that member, and are not it."""
    result: str
    """The member with the result; the status stands in where there is none."""


_ITEMS = {
    "web_search_call": _Item("web_search", "action", False, ""),
    "file_search_call": _Item("file_search", "queries", True, "results"),
    "code_interpreter_call": _Item("code_interpreter", "code", True, "outputs"),
    "mcp_call": _Item("", "arguments", False, "output"),
}


def _read_item(block: Block) -> Sequence[Piece]:
    item = _ITEMS[block["type"]]
    given, result, error = block.get(item.given), block.get(item.result), block.get("error")
    args = {item.given: given} if item.wrapped else given or {}
    rest = _rest(block, "id", item.given, *([item.result] if result is not None else ()))
    content = result if result is not None else error or block.get("status") or ""
    failed = error is not None or block.get("status") == "failed"
    own_id = _text(block.get("id"))
    return [
        Called(own_id, item.tool or _text(block.get("name")), args, block["type"], rest, block.get("index")),
        Answered(own_id, content, block["type"], {} if result is not None else {"stands_in": True}, failed),
    ]


def _write_item(call: Called, found: Answered | None) -> Block:
    item = _ITEMS[call.form]
    given = call.args.get(item.given) if item.wrapped else call.args
    given = json_text(given) if item.given == "arguments" else given
    block = {"type": call.form, "id": call.id, item.given: given, **call.rest}
    if found is not None and not found.rest.get("stands_in"):
        block[item.result] = found.content
    return block


def _read_image(block: Block) -> Sequence[Piece]:
    data = block.get("result")
    mime = f"image/{block.get('output_format') or 'png'}"
    part = part_from_block({"type": "image", "base64": data, "mime_type": mime}) if data else None
    return [Media(part)] if part is not None and part.type != "text" else []


# ---------------------------------------------------------------------- Gemini


def _read_code(block: Block) -> Sequence[Piece]:
    args = {"code": block.get("executable_code"), "language": block.get("language")}
    rest = _rest(block, "id", "executable_code", "language")
    return [Called(_text(block.get("id")), "code_interpreter", args, block["type"], rest)]


def _write_code(call: Called) -> Block:
    code, language = call.args.get("code"), call.args.get("language")
    return {"type": call.form, "executable_code": code, "language": language, "id": call.id, **call.rest}


def _read_printed(block: Block) -> Sequence[Piece]:
    rest = _rest(block, "tool_call_id", "code_execution_result")
    found = block.get("code_execution_result")
    return [Answered(_text(block.get("tool_call_id")), found, block["type"], rest, block.get("outcome") == 2)]


def _write_printed(found: Answered) -> Block:
    return {"type": found.form, "code_execution_result": found.content, "tool_call_id": found.id, **found.rest}


# ---------------------------------------------------------------------- LangChain's standard blocks

_LISTING = "mcp_list_tools"
"""OpenAI's listing of a remote server's tools: no model asked for it."""


def _read_call(block: Block) -> Sequence[Piece]:
    extras = block.get("extras")
    own, shown = _text(block.get("name")), _text(extras.get("tool_name")) if isinstance(extras, Mapping) else ""
    args, key = block.get("args"), block.get("index")
    if own == _LISTING:
        return []
    rest = _rest(block, "id", "args", *(() if shown else ("name",)))
    call = Called(
        _text(block.get("id")), shown or own, None if isinstance(args, str) else args, block["type"], rest, key
    )
    pieces: list[Piece] = [call] if call.id or call.name else []
    return [*pieces, Argued(key, args)] if isinstance(args, str) and args else pieces


def _write_call(call: Called) -> Block:
    return {"type": "server_tool_call", "id": call.id, "name": call.name, "args": call.args, **call.rest}


def _read_output(block: Block) -> Sequence[Piece]:
    output, status = block.get("output"), _text(block.get("status"))
    rest = _rest(block, "tool_call_id", "output")
    if output is None:
        output, rest["stands_in"] = status, True
    return [Answered(_text(block.get("tool_call_id")), output, block["type"], rest, status == "error")]


def _write_output(found: Answered) -> Block:
    output = {} if found.rest.get("stands_in") else {"output": found.content}
    rest = {key: value for key, value in found.rest.items() if key != "stands_in"}
    return {"type": found.form, "tool_call_id": found.id, **output, **rest}


def _read_media(block: Block) -> Sequence[Piece]:
    part = part_from_block(block)
    return [Media(part)] if part is not None and part.type != "text" else []


_RESULT = Shape("_tool_result", _read_result, result=_write_result)
"""Results of Anthropic's tools: the type of each ends like this."""
SHAPES = (
    Shape("server_tool_use", _read_use, call=_write_use),
    Shape("mcp_tool_use", _read_use, call=_write_use),
    Shape("input_json_delta", _read_delta),
    *(Shape(kind, _read_item, both=_write_item) for kind in _ITEMS),
    Shape("image_generation_call", _read_image),
    Shape("executable_code", _read_code, call=_write_code),
    Shape("code_execution_result", _read_printed, result=_write_printed),
    Shape("server_tool_call", _read_call, call=_write_call, version="v1"),
    Shape("server_tool_call_chunk", _read_call, call=_write_call, version="v1"),
    Shape("server_tool_result", _read_output, result=_write_output, version="v1"),
    *(Shape(kind, _read_media) for kind in ("image", "image_url", "audio", "video", "file", "media")),
)
"""A new shape is one more entry."""

BY_NAME = {shape.name: shape for shape in SHAPES}
KINDS = frozenset(BY_NAME) - {"input_json_delta"}
"""Types of the blocks that say something by themselves."""


def shape_of(kind: str) -> Shape | None:
    """The shape of the blocks of this type; None for a type of no provider."""
    return BY_NAME.get(kind) or (_RESULT if kind.endswith(_RESULT.name) else None)


_SOUNDS = (
    ("UklGR", "audio/wav"),
    ("SUQz", "audio/mpeg"),
    ("//", "audio/mpeg"),
    ("T2dn", "audio/ogg"),
    ("Zkxh", "audio/flac"),
)
"""First base64 characters of audio formats."""


def read_audio(member: Any) -> Media | None:
    """The sound in ``additional_kwargs["audio"]`` of a whole message: OpenAI's object, or Gemini's bytes of a WAV
    file."""
    data = member.get("data") if isinstance(member, Mapping) else member
    if isinstance(data, bytes):
        data = base64.b64encode(data).decode()
    if not isinstance(data, str) or not data:
        return None
    mime = next((known for magic, known in _SOUNDS if data.startswith(magic)), "audio/wav")
    part = part_from_block({"type": "audio", "base64": data, "mime_type": mime})
    return Media(part) if part is not None and part.type != "text" else None
