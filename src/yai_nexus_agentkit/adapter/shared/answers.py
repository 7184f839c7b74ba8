"""Answers to open questions, checked as a whole before the agent runs: a refused answer consumes nothing (AG-UI 1.0
§16)."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ag_ui.core import ResumeEntry

from yai_nexus_agentkit.errors import ResumeError

__all__ = ["check_answer", "complete_answers"]

_logger = logging.getLogger(__name__)


def complete_answers(
    entries: Iterable[ResumeEntry], open_ids: Sequence[str], taken: Collection[str] = ()
) -> dict[str, ResumeEntry]:
    """The answers by interrupt id.

    `taken`: ids whose answers the thread has taken before. A client that lost the response sends them again; they are
    ignored. Raises `ResumeError` for any other id that is not open, for two answers to one question, and for an
    incomplete set.
    """
    given: dict[str, ResumeEntry] = {}
    for entry in entries:
        if given.setdefault(entry.interrupt_id, entry) != entry:
            raise ResumeError(f"interrupt {entry.interrupt_id} is answered twice, and differently")
    given = {i: entry for i, entry in given.items() if i in open_ids or i not in taken}
    if unknown := [i for i in given if i not in open_ids]:
        raise ResumeError(f"these interrupts are not open: {', '.join(unknown)}; open are: {', '.join(open_ids)}")
    if missing := [i for i in open_ids if i not in given]:
        raise ResumeError(f"every open interrupt needs an answer; missing: {', '.join(missing)}")
    return given


def check_answer(interrupt_id: str, payload: Any, schema: Mapping[str, Any] | None) -> None:
    """Check an answer against the JSON Schema of its question, where ``jsonschema`` is installed.

    Raises `ResumeError` for an answer that does not fit.
    """
    if schema is None:
        return
    try:
        import jsonschema
    except ImportError:
        return
    try:
        jsonschema.validate(payload, schema)
    except jsonschema.ValidationError as error:
        where = "/".join(str(part) for part in error.absolute_path)
        raise ResumeError(
            f"the answer to interrupt {interrupt_id} does not fit its schema: {where and where + ': '}{error.message}"
        ) from error
    except jsonschema.SchemaError:
        _logger.warning(
            "the response schema of interrupt %s is not a JSON Schema; the answer is not checked", interrupt_id
        )
