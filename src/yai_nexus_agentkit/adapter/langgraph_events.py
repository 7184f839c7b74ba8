"""The event kinds of LangChain's ``astream_events(version="v2")``, as LangGraph emits them."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["LangGraphEventType"]


class LangGraphEventType(StrEnum):
    """Every kind of native event the adapter knows. Others are logged once and skipped.

    A member equals its string, so a dispatch table keyed by members is looked up with the native event's own string.
    """

    ON_CHAIN_START = "on_chain_start"
    ON_CHAIN_STREAM = "on_chain_stream"
    ON_CHAIN_END = "on_chain_end"
    ON_CHAIN_ERROR = "on_chain_error"
    """Sent by the callback source only; v2 leaves failed chains open."""

    ON_CHAT_MODEL_START = "on_chat_model_start"
    ON_CHAT_MODEL_STREAM = "on_chat_model_stream"
    ON_CHAT_MODEL_END = "on_chat_model_end"

    ON_LLM_START = "on_llm_start"
    ON_LLM_STREAM = "on_llm_stream"
    ON_LLM_END = "on_llm_end"
    ON_LLM_ERROR = "on_llm_error"
    """A model call, chat or text, that failed; sent by the callback source only."""

    ON_TOOL_START = "on_tool_start"
    ON_TOOL_STREAM = "on_tool_stream"
    ON_TOOL_END = "on_tool_end"
    ON_TOOL_ERROR = "on_tool_error"

    ON_RETRIEVER_START = "on_retriever_start"
    ON_RETRIEVER_STREAM = "on_retriever_stream"
    ON_RETRIEVER_END = "on_retriever_end"
    ON_RETRIEVER_ERROR = "on_retriever_error"

    ON_PROMPT_START = "on_prompt_start"
    ON_PROMPT_STREAM = "on_prompt_stream"
    ON_PROMPT_END = "on_prompt_end"

    ON_PARSER_START = "on_parser_start"
    ON_PARSER_STREAM = "on_parser_stream"
    ON_PARSER_END = "on_parser_end"

    ON_NODE_START = "on_node_start"
    """Not sent by today's runtimes (nodes are chains tagged ``graph:step:N``), but honoured if it comes."""
    ON_NODE_END = "on_node_end"

    ON_CUSTOM_EVENT = "on_custom_event"
