"""Fixtures for all tests. The judges are real: the official clients, ag-ui-validate and the rules of `testing`."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Protocol

import pytest
from hypothesis import HealthCheck, settings

from tests.support.conformance import BOTH, Verdict, verdict
from tests.support.verifier import Verifier, shared_verifier
from yai_nexus_agentkit.testing import AnyRun

# The machine's speed is no property of the code; CI must not fail by chance.
settings.register_profile(
    "default",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first: processes that share the files end at about the same time.

    Of tests with one id, these processes run one, so no two may have the same.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
    doubled = [name for name, count in Counter(item.nodeid for item in items).items() if count > 1]
    if doubled:
        raise pytest.UsageError(f"several tests have the id {', '.join(doubled)}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Half an emoji in what a test logged cannot travel to the process that reports."""
    report = yield
    report.sections = [(name, text.encode(errors="replace").decode()) for name, text in report.sections]
    return report


@pytest.fixture(scope="module", autouse=True)
def frozen_heap() -> None:
    """Modules and tests live to the end: frozen, they cost no collection any time. Without this, collections take a
    third of the suite's time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def frozen_again() -> Iterator[None]:
    """A server that stops unfreezes everything: not for the tests that come after it in a module. To ask whether
    there is something frozen takes longer than to freeze it."""
    yield
    gc.collect(1)
    gc.freeze()


class Judge(Protocol):
    """Runs every layer of checks over the runs of one thread."""

    def __call__(
        self,
        runs: Sequence[AnyRun],
        *,
        clients: Sequence[str] = BOTH,
        advice: bool = False,
        ignore: Iterable[str] = (),
    ) -> Verdict:
        """Fails the test when a layer finds a problem; returns what the clients end with."""
        ...


@pytest.fixture(scope="session")
def verifier() -> Iterator[Verifier]:
    """The official clients, as processes that live as long as the session."""
    shared = shared_verifier()
    yield shared
    shared.close()


@pytest.fixture(scope="session")
def judge(verifier: Verifier) -> Judge:
    """``judge(runs)``: conformant for all layers and both current clients, or the test fails.

    ``judge([events]).messages`` and ``.state`` are what the 1.0.0 client ends with; ``.clients`` has every view.
    """

    def run(
        runs: Sequence[AnyRun],
        *,
        clients: Sequence[str] = BOTH,
        advice: bool = False,
        ignore: Iterable[str] = (),
    ) -> Verdict:
        found = verdict(runs, clients=clients, advice=advice, ignore=ignore, verifier=verifier)
        assert not found.problems, "\n".join(["the stream is not conformant:", *found.problems])
        return found

    return run
