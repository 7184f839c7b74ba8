"""Pure. ADK's requests to a person (confirmation of a tool, credentials, input) as interrupts, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ag_ui.core import Interrupt, ResumeEntry
from google.genai import types

from yai_nexus_agentkit.adapter.shared.answers import check_answer
from yai_nexus_agentkit.protocol.json.json_safe import clean_text, json_safe, json_text

__all__ = ["ASKING", "Question", "answer_to"]

CONFIRMATION, CREDENTIAL, INPUT = "adk_request_confirmation", "adk_request_credential", "adk_request_input"
ASKING = frozenset({CONFIRMATION, CREDENTIAL, INPUT})
"""The names of the calls by which ADK asks a person. They are not calls to the client."""
_FOR_CODE = "responding with a FunctionResponse"
"""ADK's own hint speaks to a programmer."""
_DENIED = "The user did not give the credentials."
_APPROVAL = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "payload": {}},
    "required": ["approved"],
}


@dataclass(frozen=True, slots=True)
class Question:
    """An open request of ADK's."""

    id: str
    name: str
    args: Mapping[str, Any]
    tool: str = ""
    """Name of the tool that needs credentials."""
    owner: str | None = None
    hosts: frozenset[str] = frozenset()
    """Ids of the calls that wait for it: a workflow or an agent asks that is a tool of another one."""

    @property
    def call(self) -> Mapping[str, Any]:
        """The call that the question is about."""
        return self.args.get("originalFunctionCall") or {}

    @property
    def call_id(self) -> str | None:
        """Its id."""
        return self.call.get("id") or self.args.get("functionCallId")

    def interrupt(self) -> Interrupt:
        """The question on the wire."""
        reason, message, schema = self._shown()
        return Interrupt(
            id=self.id,
            reason=reason,
            message=clean_text(message),
            tool_call_id=self.call_id,
            response_schema=schema,
            subagent_run_id=self.owner,
            metadata={"adk": {"value": json_safe(self._login() if self.name == CREDENTIAL else self.args)}},
        )

    def _login(self) -> dict[str, Any]:
        """The address of the login. The rest of the configuration has the application's secrets."""
        exchanged = self._config.get("exchangedAuthCredential") or {}
        kind = (self._config.get("authScheme") or {}).get("type")
        return {"type": kind, "authUri": (exchanged.get("oauth2") or {}).get("authUri")}

    @property
    def _config(self) -> Mapping[str, Any]:
        return self.args.get("authConfig") or {}

    def login(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """ADK's configuration with what the client got: where the login led to, or the credential itself."""
        if "authResponseUri" not in given:
            return {**self._config, "exchangedAuthCredential": dict(given)}
        exchanged = self._config.get("exchangedAuthCredential") or {}
        oauth = {**(exchanged.get("oauth2") or {}), **given}
        return {**self._config, "exchangedAuthCredential": {**exchanged, "oauth2": oauth}}

    def _shown(self) -> tuple[str, str, dict[str, Any] | None]:
        if self.name == CONFIRMATION:
            hint = str((self.args.get("toolConfirmation") or {}).get("hint") or "")
            text = f"Allow {self.call.get('name')} {json_text(self.call.get('args') or {})}?"
            return "tool_call", text if not hint or _FOR_CODE in hint else hint, _APPROVAL
        if self.name == CREDENTIAL:
            return "adk:credential", f"{self.tool or 'The tool'} needs credentials.", {"type": "object"}
        schema = self.args.get("response_schema") or self.args.get("responseSchema")
        return "input_required", str(self.args.get("message") or "Input is needed."), schema or None


def answer_to(question: Question, entry: ResumeEntry) -> types.FunctionResponse:
    """The answer as ADK takes it. Raises `ResumeError` for input that does not fit its schema.

    A confirmation is denied unless the answer says true: ``true`` itself, or ``approved`` or ``confirmed``.
    """
    given = entry.payload if entry.status == "resolved" else None
    if question.name == CONFIRMATION:
        return _response(question.id, question.name, _confirmation(given))
    if question.name == CREDENTIAL:
        if not isinstance(given, Mapping):
            return _response(question.call_id or question.id, question.tool, {"error": _DENIED})
        return _response(question.id, question.name, question.login(given))
    if question.name == INPUT and entry.status == "resolved":
        check_answer(question.id, given, question.interrupt().response_schema)
    value = {"status": "cancelled"} if entry.status == "cancelled" else given
    return _response(question.id, question.name, dict(value) if isinstance(value, Mapping) else {"result": value})


def _confirmation(given: Any) -> dict[str, Any]:
    fields = given if isinstance(given, Mapping) else {"approved": given}
    made: dict[str, Any] = {"confirmed": fields.get("approved") is True or fields.get("confirmed") is True}
    if fields.get("payload") is not None:
        made["payload"] = fields["payload"]
    return made


def _response(call_id: str, name: str, response: dict[str, Any]) -> types.FunctionResponse:
    return types.FunctionResponse(id=call_id, name=name, response=response)
