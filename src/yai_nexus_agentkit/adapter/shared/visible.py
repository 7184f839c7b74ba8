"""Pure. Which runs clients see, by `AdapterOptions.visible`."""

from __future__ import annotations

from collections.abc import Callable

from yai_nexus_agentkit.adapter.native_run import NODES, NativeRun
from yai_nexus_agentkit.adapter.options import Visible

__all__ = ["judge_of"]


def judge_of(visible: Callable[[NativeRun], bool] | Visible | None) -> Callable[[NativeRun], bool]:
    """The option as a function."""
    if visible is None:
        return lambda run: True
    if not isinstance(visible, Visible):
        return visible

    def judge(run: NativeRun) -> bool:
        if visible.nodes is not None and run.path and not any(name in visible.nodes for name in run.path):
            return False
        if run.kind in NODES:
            return True
        if visible.tags is not None and not any(tag in visible.tags for tag in run.tags):
            return False
        return visible.names is None or run.name in visible.names

    return judge
