"""A tool that many tests give to their models, and two calls of it."""

from __future__ import annotations

from langchain_core.tools import tool

__all__ = ["OSLO", "ROME", "weather"]


@tool
async def weather(city: str) -> str:
    """Weather of a city."""
    return f"sun in {city}"


ROME = ("weather", {"city": "Rome"}, "call_1")
OSLO = ("weather", {"city": "Oslo"}, "call_2")
