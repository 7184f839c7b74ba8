"""Edge. The artifacts that tools save, as events of the run."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from google.adk.runners import Runner

from yai_nexus_agentkit.adapter.adk.sessions import Place
from yai_nexus_agentkit.adapter.adk.translate import Emission
from yai_nexus_agentkit.orchestration.envelope import Envelope, custom_envelope

__all__ = ["files_of"]

_logger = logging.getLogger(__name__)
_LARGEST = 4 * 1024 * 1024
"""Bytes of an artifact that is sent."""


async def files_of(runner: Runner, place: Place, delta: Mapping[str, int]) -> list[Emission]:
    """The artifacts that were saved, as files. One that cannot be read is logged and left out."""
    service, found = runner.artifact_service, []
    for name, version in delta.items() if service is not None else ():
        try:
            part = await service.load_artifact(**place._asdict(), filename=name, version=version)
        except Exception:
            _logger.exception("artifact %r cannot be read", name)
            continue
        envelope = _file(name, version, part)
        if envelope is not None:
            found.append(Emission(None, envelope))
    return found


def _file(name: str, version: int, part: Any) -> Envelope | None:
    """An artifact as an application event; without its data if that is too large for one."""
    blob, text = getattr(part, "inline_data", None), getattr(part, "text", None)
    if blob is None and text is None:
        return None
    mime, data = (blob.mime_type, blob.data) if blob is not None else ("text/plain", text)
    envelope = custom_envelope("artifact", data or b"", mime or "application/octet-stream", f"artifact:{name}")
    file = envelope["value"] if len(data or b"") <= _LARGEST else {"mimeType": envelope["value"]["mimeType"]}
    return {**envelope, "value": {"filename": name, "version": version, **file}}
