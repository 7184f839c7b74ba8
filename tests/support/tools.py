"""Tools that several tests give to their models."""

from __future__ import annotations

from langchain_core.tools import tool

__all__ = ["OSLO", "ROME", "risky", "weather"]


@tool
async def weather(city: str) -> str:
    """Weather of a city."""
    return f"sun in {city}"


ROME = ("weather", {"city": "Rome"}, "call_1")
OSLO = ("weather", {"city": "Oslo"}, "call_2")


@tool
async def risky(n: int) -> str:
    """Fails for 1."""
    if n == 1:
        raise ValueError("kaboom 42")
    return "fine"
