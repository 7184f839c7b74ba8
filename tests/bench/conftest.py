"""Measurements that take minutes. They are collected only when asked for: ``pytest tests/bench -m bench``."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "bench: takes minutes; collected only with -m bench")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return None if "bench" in str(config.option.markexpr or "").split() else True
