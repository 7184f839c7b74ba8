"""A google-adk agent: a specialist, a tool that asks before it pays, and events from inside a tool. Its model plays a
script; put a model of your own in its place: ``Agent(model="gemini-2.5-flash", ...)``."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.tools import FunctionTool, ToolContext
from google.genai import types

from yai_nexus_agentkit import EventEmitter


class Script(BaseLlm):
    """Calls a tool once, then says what came of it."""

    model: str = "script"
    tool: str
    args: dict[str, Any]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents[-1:] for part in content.parts or ()]
        results = [part.function_response for part in parts if part.function_response]
        words = ["Result: ", str(results[0].response), "."] if results else ["One moment. "]
        for word in words if stream else ():
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=word)]), partial=True)
        whole = [types.Part(text="".join(words))]
        if not results:
            whole.append(types.Part(function_call=types.FunctionCall(name=self.tool, args=self.args)))
        yield LlmResponse(content=types.Content(role="model", parts=whole), partial=False)


def prices(item: str, tool_context: ToolContext) -> dict[str, int]:
    """The prices of an item."""
    found = {"Ada": 12, "Bob": 9}
    EventEmitter(tool_context).emit("display_chart", {"type": "bar", "x": list(found), "y": list(found.values())})
    tool_context.state["item"] = item
    return found


def pay(to: str, amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount} € to {to}"


shop = Agent(name="shop", model=Script(tool="prices", args={"item": "tea"}), tools=[prices])

payments = Agent(
    name="payments",
    model=Script(tool="pay", args={"to": "Bob", "amount": 9}),
    tools=[FunctionTool(pay, require_confirmation=True)],
)
