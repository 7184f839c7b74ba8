"""The agent: a model that looks up the weather, and sends mail once a person has said yes."""

from __future__ import annotations

import os
from typing import Any

from dotenv import load_dotenv
from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from yai_nexus_agentkit.orchestration.approvals import require_approval

from script import scripted_model

WEATHER = {"Berlin": "sunny, 21 °C", "Lisbon": "clear, 27 °C", "Oslo": "windy, 12 °C"}


@tool
def look_up_weather(city: str) -> str:
    """The weather in a city."""
    return WEATHER.get(city, f"nobody knows about {city}")


@tool
def send_mail(to: str, text: str) -> str:
    """Send a mail. Write the whole text."""
    return f"The mail to {to} is sent."  # it is not: put your mail service here


TOOLS = [look_up_weather, require_approval(send_mail, message=lambda args: f"Send this mail to {args['to']}?")]


def chat_model() -> BaseChatModel:
    """The model that MODEL names in `.env`, or one that plays a script and needs no key."""
    load_dotenv()
    name = os.environ.get("MODEL")
    return init_chat_model(name) if name else scripted_model()


def build_graph(model: BaseChatModel, checkpointer: Any) -> Any:
    """A LangGraph graph. Any other will do as well."""
    return create_agent(model, TOOLS, system_prompt="You are a friendly assistant.", checkpointer=checkpointer)


def graph() -> Any:
    """For the command line: `yai-nexus-agentkit chat agent:graph`."""
    return build_graph(chat_model(), InMemorySaver())
