"""Pure. The wire of the Vercel AI SDK (npm package ``ai``, versions 5, 6 and 7): its UI message stream.

`read_request` turns what a page posts into a `RunAgentInput`. `UIMessageStream` turns events into chunks, plain JSON
objects; `frame` writes one as a server-sent event. `AISDKWire` joins them for HTTP, `UIHistory` shows a thread as the
messages of a chat, and `UIAnswer` the message that is being written.
"""

from __future__ import annotations

from yai_nexus_agentkit.transport.ai_sdk.chunks import UIMessageStream, Version
from yai_nexus_agentkit.transport.ai_sdk.facts import Chunk, values_json
from yai_nexus_agentkit.transport.ai_sdk.request import Asked, read_request
from yai_nexus_agentkit.transport.ai_sdk.ui_messages import UIHistory, UIMessage
from yai_nexus_agentkit.transport.ai_sdk.wire import AISDKWire, ChunkEncoder, frame

__all__ = [
    "AISDKWire",
    "Asked",
    "Chunk",
    "ChunkEncoder",
    "UIHistory",
    "UIMessage",
    "UIMessageStream",
    "Version",
    "frame",
    "read_request",
    "values_json",
]
