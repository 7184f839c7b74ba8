"""500 streams at once on a real server. The quick variants are in the suite."""

from __future__ import annotations

import pytest

from tests.support.crowd import crowd, listed
from tests.support.serving import served

pytestmark = [pytest.mark.bench, pytest.mark.timeout(900)]


@pytest.mark.parametrize("agent", ["load", "load-callbacks"])
async def test_500_streams_of_200_tokens_at_once(agent: str) -> None:
    with served("tests.support.served_agents:everything") as url:
        for turn in (1, 2):
            faults = await crowd(f"{url}/{agent}", 500, tokens=200, run=f"run {turn}")
            assert faults == [], turn
        assert listed(f"{url}/{agent}") == {"idle": 500}
