"""Options are refused where they are written: by name, with what they may be and what was given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from pydantic import NonNegativeInt

from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, Hooks, Visible
from yai_nexus_agentkit.checks import check_options
from yai_nexus_agentkit.runs.identity import Identity
from yai_nexus_agentkit.runs.janitor import Janitor
from yai_nexus_agentkit.runs.limits import Capacity
from yai_nexus_agentkit.runs.locks import MemoryThreadLocks
from yai_nexus_agentkit.runs.service import RunService, ServiceSettings
from yai_nexus_agentkit.server import ServerSettings, add_agui_routes, create_app

WRONG: list[tuple[Callable[..., Any], str, Any, str]] = [
    # class, option, value, what it may be
    (AdapterOptions, "reasoning", "of", "'standard', 'thinking' or 'off'"),
    (AdapterOptions, "interrupts", "outcomes", "'outcome', 'custom' or 'both'"),
    (AdapterOptions, "messages_snapshot", None, "'auto', 'always' or 'never'"),
    (AdapterOptions, "subagents", True, "'auto', 'always' or 'never'"),
    (AdapterOptions, "durability", "never", "'sync', 'async' or 'exit' or None"),
    (AdapterOptions, "text_chunks", "no", "a valid boolean"),
    (AdapterOptions, "execution_timeout", 0, "greater than 0 or None"),
    (AdapterOptions, "idle_timeout", -1, "greater than 0 or None"),
    (AdapterOptions, "tool_timeout", float("inf"), "a finite number or None"),
    (AdapterOptions, "tool_timeout", float("nan"), "a finite number or None"),
    (AdapterOptions, "idle_timeout", True, "a valid number or None"),
    (AdapterOptions, "idle_timeout", "60", "a valid number or None"),
    (AdapterOptions, "step_name", "node", "callable or None"),
    (AdapterOptions, "visible", {"nodes": {"a"}}, "Callable[[NativeRun], bool] | Visible | None"),
    (AdapterOptions, "predict_state", ["k"], "a valid dictionary"),
    (AdapterOptions, "predict_state", {"k": "ab"}, "Mapping[str, tuple[str, str]]"),
    (AdapterOptions, "predict_state", {"k": ("tool", 1)}, "Mapping[str, tuple[str, str]]"),
    (AdapterOptions, "predict_state", {"k": ("tool",)}, "Mapping[str, tuple[str, str]]"),
    (Visible, "nodes", "chat", "a list or set of strings or None"),
    (Visible, "tags", [1], "a list or set of strings or None"),
    (Visible, "names", {"a": 1}, "a list or set of strings or None"),
    (Hooks, "on_event", "print", "callable or None"),
    (ServerSettings, "busy", "waits", "'reject', 'wait', 'interrupt' or 'stream'"),
    (ServerSettings, "cors", "https://app.example.com", "a list or set of strings"),
    (ServerSettings, "max_runs", -1, "greater than or equal to 0 or None"),
    (ServerSettings, "max_runs", 1.5, "a valid integer or None"),
    (ServerSettings, "max_body", 0, "greater than 0"),
    (ServerSettings, "lease", 0, "greater than 0"),
    (ServerSettings, "busy_wait", -0.1, "greater than or equal to 0"),
    (ServerSettings, "max_depth", 201, "between 1 and 200"),
    (ServerSettings, "identity", None, "callable"),
    (ServerSettings, "locks", {}, "an instance of ThreadLocks or None"),
    (ServerSettings, "index", MemoryThreadLocks(), "an instance of ThreadIndex or None"),
    (ServerSettings, "metrics", "statsd", "callable or None"),
    (ServiceSettings, "busy", "queue", "'reject', 'wait' or 'interrupt'"),
    (ServiceSettings, "settle", -1, "greater than or equal to 0"),
    (Capacity, "total", "many", "a valid integer or None"),
    (Identity, "user", None, "a valid string"),
    (Identity, "facts", ["admin"], "a valid dictionary"),
    (Identity, "config", "x", "a mapping or None"),
]


@pytest.mark.parametrize(("cls", "name", "value", "wanted"), WRONG)
def test_a_wrong_value_is_named(cls: type, name: str, value: Any, wanted: str) -> None:
    with pytest.raises(ValueError) as caught:
        cls(**{name: value})
    assert str(caught.value) == f"{cls.__name__}.{name} must be {wanted}, not {value!r}"


@pytest.mark.parametrize("cls", [AdapterOptions, ServerSettings, ServiceSettings])
def test_every_literal_is_checked(cls: type) -> None:
    """Whatever is added: each of its values is taken, and no other."""
    for field in fields(cls):
        if "Literal" in str(field.type) or field.name == "reasoning":
            with pytest.raises(ValueError, match=f"{cls.__name__}.{field.name} must be .*, not 'nothing like it'"):
                cls(**{field.name: "nothing like it"})
            assert getattr(cls(**{field.name: field.default}), field.name) == field.default


@pytest.mark.parametrize(
    "origin", ["https://app.example.com/", "app.example.com", "https://app.example.com/chat", "", "*.example.com"]
)
def test_an_origin_that_no_browser_sends(origin: str) -> None:
    with pytest.raises(ValueError, match=r"ServerSettings\.cors must hold origins") as caught:
        ServerSettings(cors=["http://localhost:3000", origin])
    assert str(caught.value).endswith(f"not {origin!r}")


def test_what_is_right() -> None:
    ServerSettings(cors=["*"])
    ServerSettings(cors=("http://localhost:3000", "chrome-extension://abc", "http://[::1]:8000"))
    ServerSettings(max_runs=0, thread_idle=0, locks=MemoryThreadLocks(), metrics=lambda name, value, labels: None)
    AdapterOptions(execution_timeout=1, idle_timeout=0.5, predict_state={"k": ("tool", "argument")})
    AdapterOptions(visible=Visible(nodes=["a"]), step_name=lambda run: None, durability="exit")
    assert replace(AdapterOptions(), source="callbacks").source == "callbacks"
    assert Visible(nodes=["a", "b"], tags=("t",), names={"n"}) == Visible(
        nodes=frozenset("ab"), tags=frozenset("t"), names=frozenset("n")
    )


def test_other_classes_of_options() -> None:
    adapter = AGUIAdapter(RunnableLambda(lambda given: "x"))
    with pytest.raises(ValueError, match=r"Janitor\.every must be greater than 0, not 0"):
        Janitor(service=RunService(), stores={}, every=0)
    with pytest.raises(TypeError, match="options and hooks are AdapterOptions and Hooks, not dict"):
        AGUIAdapter(adapter.source, options={"reasoning": "off"})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not AdapterOptions"):
        AGUIAdapter(adapter.source, hooks=AdapterOptions())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="settings must be ServerSettings"):
        create_app(adapter, settings=AdapterOptions())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="settings must be ServerSettings"):
        add_agui_routes(create_app(adapter), adapter, settings={})  # type: ignore[arg-type]


def test_a_long_value_is_cut() -> None:
    with pytest.raises(ValueError) as caught:
        Identity(user=["x" * 1000])  # type: ignore[arg-type]
    assert len(str(caught.value)) < 250


def test_private_fields_are_nobodys_options() -> None:
    @dataclass
    class Own:
        size: NonNegativeInt = 1
        _private: int = -1

    check_options(Own())
    with pytest.raises(ValueError, match=r"Own\.size must be greater than or equal to 0, not -1"):
        check_options(Own(size=-1))
