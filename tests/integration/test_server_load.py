"""Many streams at once on a real server and real sockets: none fails, none loses a token.

500 streams by the default source take a minute or two on a busy machine: tests/bench/test_load.py.
"""

from __future__ import annotations

import pytest

from tests.support.crowd import crowd, listed
from tests.support.serving import served


@pytest.mark.parametrize(
    ("agent", "streams"),
    [
        ("load", 100),
        pytest.param("load-callbacks", 500, marks=[pytest.mark.slow, pytest.mark.timeout(300)]),
    ],
)
async def test_streams_of_200_tokens_at_once(agent: str, streams: int) -> None:
    with served("tests.support.served_agents:everything") as url:
        assert await crowd(f"{url}/{agent}", streams, tokens=200) == []
        assert listed(f"{url}/{agent}") == {"idle": streams}
