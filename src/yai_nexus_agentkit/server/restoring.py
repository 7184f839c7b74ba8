"""Edge. Runs that another worker began: what the log keeps of the sender, and the request that is made from it."""

from __future__ import annotations

import inspect
import json

from yai_nexus_agentkit.protocol.request import parse_request
from yai_nexus_agentkit.runs.identity import Identity
from yai_nexus_agentkit.runs.live_run import Disconnect, RunRequest
from yai_nexus_agentkit.runs.log import RunHead
from yai_nexus_agentkit.runs.shared_runs import CannotGoOnError
from yai_nexus_agentkit.server.agents import ServedAgent
from yai_nexus_agentkit.server.settings import ServerSettings

__all__ = ["for_one_connection", "restored_request", "stored_of"]

_GRACE = 30.0
"""Seconds that the viewers of a run have to come back to another worker, where the run ends with its viewers."""


def stored_of(identity: Identity, disconnect: Disconnect, orphaned: float | None, source: str = "") -> str:
    """The part of an identity that can be stored, and the run's settings, as JSON text."""
    whole = identity.context is None and not any((identity.config or {}).values())
    try:
        facts = json.dumps(dict(identity.facts))
    except (TypeError, ValueError):
        facts, whole = "{}", False
    kept = {"thread": identity.thread, "whole": whole, "disconnect": disconnect, "orphaned": orphaned, "source": source}
    return json.dumps({**kept, "facts": json.loads(facts)})


def for_one_connection(stored: str) -> str:
    """The same of a run that ends with its connection: no other worker goes on with it."""
    return json.dumps({**json.loads(stored), "connected": True})


async def restored_request(agent: ServedAgent, settings: ServerSettings, head: RunHead) -> RunRequest:
    """The request of a run that another worker began. Raises `CannotGoOnError`."""
    if settings.on_crash == "fail":
        raise CannotGoOnError("ServerSettings.on_crash is 'fail'")
    kept, thread = json.loads(head.facts), head.thread
    if kept.get("connected"):
        raise CannotGoOnError("it ended with its connection")
    if settings.restore_identity is not None:
        found = settings.restore_identity(thread.agent, thread.user, kept["facts"])
        identity = await found if inspect.isawaitable(found) else found
    elif kept["whole"]:
        identity = Identity(user=thread.user, thread=kept["thread"], facts=kept["facts"])
    else:
        raise CannotGoOnError(
            "its identity has a config, a context or facts that cannot be stored; ServerSettings.restore_identity can "
            "make them again"
        )
    ends_with_viewers = kept["disconnect"] == "cancel"
    return RunRequest(
        adapter=await agent.adapter(identity),
        run_input=parse_request(head.request),
        thread=thread,
        identity=identity,
        facts={**identity.facts, "user": thread.user, "agent": thread.agent, "thread_key": thread.key},
        disconnect="continue",
        orphaned=_GRACE if ends_with_viewers else kept["orphaned"],
        stored=head.facts,
        source=kept.get("source", ""),
    )
