"""The model that answers while there is no key: it plays a script. Not needed any more once `.env` names a MODEL."""

from __future__ import annotations

import re

from langchain_core.messages import BaseMessage, ToolMessage
from yai_nexus_agentkit.testing import ScriptedChatModel, tool_calls_part


def scripted_model() -> ScriptedChatModel:
    """It streams a word every 30 milliseconds."""
    return ScriptedChatModel(script=answer, pause=0.03)


def answer(messages: list[BaseMessage]) -> list[object]:
    """The parts of the next answer: words, or the call of a tool."""
    last = messages[-1]
    if isinstance(last, ToolMessage):
        return words(f"The tool **{last.name}** says: {last.text}")
    call_id = f"call_{len(messages)}"
    if address := re.search(r"\S+@\S+\w", last.text):
        text = f"Hello,\n\n{last.text}\n\nBest wishes"
        return [*words("I wrote a mail. "), tool_calls_part(("send_mail", {"to": address[0], "text": text}, call_id))]
    if city := re.search(r"weather (?:in|of) (\w+)", last.text, re.IGNORECASE):
        return [*words("Let me see. "), tool_calls_part(("look_up_weather", {"city": city[1]}, call_id))]
    return words(
        "I answer from a script, until `.env` names a model. Ask me for the *weather in Berlin*, "
        "or to *write to ann@example.com*: then I ask you first."
    )


def words(text: str) -> list[object]:
    return re.findall(r"\S+\s*", text)
