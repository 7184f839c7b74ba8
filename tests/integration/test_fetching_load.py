"""Many large downloads at once, in a server process of its own: memory stays within the limits, and streams go on."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from tests.support.fetching_server import SIZE
from tests.support.serving import run_body, served

REQUESTS = 50


def looking(number: int, url: str) -> dict[str, Any]:
    part = {"type": "image", "source": {"type": "url", "value": f"{url}/{number}.png"}}
    return run_body(None, thread=f"t{number}", messages=[{"id": "u1", "role": "user", "content": [part]}])


async def talked(client: httpx.AsyncClient, url: str) -> None:
    async with client.stream("POST", f"{url}/talk", json=run_body()) as response:
        async for _ in response.aiter_raw():
            pass


@pytest.mark.slow
async def test_50_requests_with_15_mb_each_at_once() -> None:
    """Held at once they would be 750 MB, and 1 GB in base64. A long pause of the loop counts when it comes again and
    again: the machine may have been busy."""
    agents = "tests.support.fetching_server:agents"
    length = str((SIZE + 2) // 3 * 4)
    pauses: list[float] = []
    with served("tests.support.fetching_server:files") as files, served(agents) as url:
        async with httpx.AsyncClient(timeout=100, trust_env=False) as client:
            await client.post(f"{url}/look", json=looking(REQUESTS, files))
            while len(pauses) < 3 and not (pauses and pauses[-1] < 0.1):
                talking = asyncio.create_task(talked(client, url))
                idle = (await client.get(f"{url}/figures")).json()
                asked = [client.post(f"{url}/look", json=looking(number, files)) for number in range(REQUESTS)]
                answers = await asyncio.gather(*asked)
                busy = (await client.get(f"{url}/figures")).json()
                assert not talking.done()
                talking.cancel()
                assert [answer.status_code for answer in answers] == [200] * REQUESTS
                assert all(length in answer.text for answer in answers)
                assert busy["memory"] - idle["memory"] < 450
                pauses.append(busy["pause"])
    assert min(pauses) < 0.1
