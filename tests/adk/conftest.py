"""Agents of google-adk need an environment of their own: `make test-adk`. Elsewhere these tests are left out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib.util import find_spec

import pytest


def _is_there() -> bool:
    try:
        return find_spec("google.adk") is not None
    except ModuleNotFoundError:
        return False


collect_ignore_glob = [] if _is_there() else ["test_*.py"]

if not collect_ignore_glob:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what google-adk itself imports
        import google.adk.agents
        import google.adk.apps
        import google.adk.runners
        import google.adk.sessions
        import google.adk.tools  # noqa: F401


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """ADK warns of its own experimental and older parts; warnings of ours are errors as everywhere."""
    for item in items:
        for text in ("ignore:.*EXPERIMENTAL.*", "ignore:.*deprecated.*", "ignore:.*is deprecated.*:DeprecationWarning"):
            item.add_marker(pytest.mark.filterwarnings(text))
