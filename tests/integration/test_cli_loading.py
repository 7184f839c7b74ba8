"""Specs: everything that may be an agent is one, and everything else is one clear line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_line import Project, project_in

BASE = """
    from contextlib import asynccontextmanager, contextmanager
    from functools import partial
    from langchain_core.runnables import RunnableLambda
    from langgraph.graph import START, MessagesState, StateGraph
    from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, Source
    from yai_nexus_agentkit.testing import ScriptedChatModel

    def build(answer="hello"):
        async def chat(state):
            return {"messages": [await ScriptedChatModel(script=[[answer]]).ainvoke(state["messages"])]}
        return StateGraph(MessagesState).add_node("chat", chat).add_edge(START, "chat")

    uncompiled = build()
    graph = build().compile()
    adapter = AGUIAdapter(graph, options=AdapterOptions(messages_snapshot="always"))
    runnable = RunnableLambda(lambda messages: "hello")

    class Box:
        inner = graph
    class Agents:
        box = Box()
        @property
        def broken(self):
            raise RuntimeError("not today")
    agents = Agents()

    def factory():
        return build().compile()
    async def async_factory():
        return build().compile()
    def configured(config):
        return build(config["configurable"]["answer"]).compile()
    async def configured_by_any_name(settings):
        return build(settings["configurable"]["answer"]).compile()
    def optionally_configured(config=None):
        return build(config["configurable"]["answer"]).compile()
    def needs_nothing(other="hello"):
        return build(other).compile()
    bound = partial(build, "hello")
    compiled_later = lambda: bound().compile()

    log = []
    @asynccontextmanager
    async def managed(config):
        log.append("opened")
        yield build(config["configurable"].get("answer", "hello")).compile()
        log.append("closed")
    @contextmanager
    def managed_sync():
        yield build().compile()
    @asynccontextmanager
    async def managed_factory():
        yield factory
    manager = managed_sync()

    class Own(Source):
        async def prepare(self, run):
            from yai_nexus_agentkit.adapter.langgraph.source import LangGraphSource
            return await LangGraphSource(graph).prepare(run)
    source = Own()
"""

AGENTS = [
    "graph",
    "adapter",
    "runnable",
    "source",
    "agents.box.inner",
    "factory",
    "async_factory",
    "configured",
    "configured_by_any_name",
    "optionally_configured",
    "needs_nothing",
    "compiled_later",
    "managed",
    "managed_sync",
    "managed_factory",
    "manager",
]


@pytest.fixture
def project(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    with project_in(tmp_path, capsys, monkeypatch) as project:
        yield project


@pytest.mark.parametrize("attribute", AGENTS)
def test_whatever_gives_an_agent_is_one(project: Project, attribute: str) -> None:
    project.write("my_agent.py", BASE)

    result = project.run(f"my_agent:{attribute}", "hi", "--json", "--configurable", "answer=hello")

    assert (result.code, result.err) == (0, "")
    assert "".join(event.get("delta", "") for event in result.events) == "hello"
    assert ("MESSAGES_SNAPSHOT" in result.types) == (attribute == "adapter"), "an adapter keeps its options"


def test_an_adapters_options_give_way_to_those_of_the_command_line(project: Project) -> None:
    project.write("my_agent.py", BASE)

    assert (
        "MESSAGES_SNAPSHOT" not in project.run("my_agent:adapter", "hi", "--json", "--messages-snapshot", "never").types
    )


def test_a_context_manager_stays_open_for_the_run_and_is_closed_after_it(project: Project) -> None:
    source = (
        BASE
        + """
    import atexit, contextlib
    @asynccontextmanager
    async def observed():
        try:
            async with managed({"configurable": {}}) as inner:
                yield inner
        finally:
            print("closed")
    """
    )
    project.write("my_agent.py", source)

    result = project.run("my_agent:observed", "hi")

    assert result.code == 0
    assert result.out.index("RUN_FINISHED") < result.out.index("closed")


def test_a_file_is_imported_as_the_module_that_it_is(project: Project) -> None:
    project.write("app/agents/shop.py", BASE + "\n    from app.names import NAME\n    print(__name__, NAME)")
    project.write("app/names.py", "NAME = 'shop'")

    assert project.run("app/agents/shop.py:graph", "hi").out.startswith("app.agents.shop shop\n")


def test_a_file_elsewhere_finds_what_lies_beside_it(project: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("else-where")
    (elsewhere / "names_beside.py").write_text("NAME = 'beside'")
    source = """
        from __future__ import annotations
        from dataclasses import dataclass
        from langgraph.graph import START, StateGraph
        from names_beside import NAME
        @dataclass
        class State:
            name: str = NAME
        graph = StateGraph(State).add_node("n", lambda state: {"name": state.name + "!"}).add_edge(START, "n").compile()
    """
    path = project.write(str(elsewhere / "json.py"), source)

    result = project.run(f"{path}:graph", "--json")

    assert result.code == 0, result.err
    [change] = [event["delta"] for event in result.events if event["type"] == "STATE_DELTA"]
    assert change == [{"op": "add", "path": "/name", "value": "beside!"}]


def test_a_file_elsewhere_that_needs_its_package_says_where_to_run_it(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("else-where")
    path = project.write(str(elsewhere / "apackage/one/agent.py"), "from apackage.names import NAME")

    result = project.run(f"{path}:graph")

    assert result.code == 2
    assert result.err.endswith(f"; run the command in {elsewhere}, the folder above 'apackage'\n")


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("my_agent", "'my_agent' does not name an agent: write module:attribute, as in my_agent:graph"),
        ("my_agent.py", "'my_agent.py' does not name an agent: write module:attribute, as in my_agent.py:graph"),
        ("app/shop", "'app/shop' does not name an agent: write module:attribute, as in app.shop:graph"),
        (":graph", "':graph' does not name an agent: write module:attribute, as in my_agent:graph"),
        ("folder.py:graph", "folder.py is a folder, and no file"),
        ("my_agent:", "'my_agent:' does not name an agent"),
        ("my_agent:gra ph", "'my_agent:gra ph' does not name an agent"),
        ("my-agent:graph", "'my-agent' is neither a module's name nor the path of a .py file"),
        ("my_agnet:graph", "there is no module 'my_agnet'; did you mean my_agent?"),
        ("elsewhere:graph", "there is no module 'elsewhere' in this folder or on the import path"),
        ("my_agent.inner:graph", "there is no module 'my_agent.inner'"),
        ("nowhere.inner:graph", "there is no module 'nowhere.inner'"),
        ("my_agnet.py:graph", "there is no file my_agnet.py; did you mean my_agent.py?"),
        ("app/my_agent.py:graph", "there is no file app/my_agent.py"),
        ("my_agent:grph", "my_agent has no attribute 'grph'; did you mean graph?"),
        ("my_agent:qqq", "my_agent has no attribute 'qqq'"),
        ("my_agent:agents.box.iner", "my_agent:agents.box has no attribute 'iner'; did you mean inner?"),
        ("my_agent:agents.broken", "my_agent:agents cannot give 'broken': RuntimeError: not today (my_agent.py:25"),
        ("my_agent:uncompiled", "my_agent:uncompiled is a StateGraph that is not compiled: call its .compile()"),
        ("my_agent:bound", "my_agent:bound is a StateGraph that is not compiled: call its .compile()"),
        ("my_agent:number", "my_agent:number is of type int; expected a compiled graph"),
        ("my_agent:contextlib", "my_agent:contextlib is the module contextlib; expected a compiled graph"),
        ("my_agent:nothing", "my_agent:nothing is of type NoneType; expected a compiled graph"),
        ("my_agent:needy", "my_agent:needy needs the arguments tenant, user; a factory takes none, or the config"),
        ("my_agent:by_keyword", "my_agent:by_keyword needs the arguments tenant; a factory takes none, or the config"),
        ("my_agent:generating", "my_agent:generating is a generator: decorate its function with @contextlib.async"),
        ("my_agent:failing", "my_agent:failing raised ValueError: no key, sorry (my_agent.py:"),
        ("my_agent:failing_manager", "my_agent:failing_manager raised KeyError: 'DATABASE_URL' (my_agent.py:"),
        ("my_agent:leaving", "my_agent:leaving raised SystemExit: 4 (my_agent.py:"),
        ("my_agent:endless", "my_agent:endless gives an object of type endless; expected a compiled graph"),
        ("broken:graph", "broken cannot be imported: ZeroDivisionError: division by zero (helper.py:2)"),
        ("broken.py:graph", "broken cannot be imported: ZeroDivisionError: division by zero (helper.py:2)"),
        ("needing:graph", "needing cannot be imported: ModuleNotFoundError: No module named 'apackage' (needing.py:1)"),
        ("leaving:graph", "leaving cannot be imported: SystemExit: 3 (leaving.py:2)"),
        ("unwritten:graph", "unwritten cannot be imported: SyntaxError: invalid syntax (unwritten.py:2)"),
    ],
)  # fmt: skip
def test_what_is_no_agent_is_one_line(project: Project, spec: str, line: str) -> None:
    (project.folder / "folder.py").mkdir()
    project.write(
        "my_agent.py",
        BASE
        + """
    import contextlib, os, sys
    number, nothing = 5, None
    def needy(tenant, user): ...
    def by_keyword(*, tenant): ...
    async def generating():
        yield graph
    def failing():
        raise ValueError("no key,\\nsorry")
    @asynccontextmanager
    async def failing_manager():
        yield os.environ["DATABASE_URL"]
    def leaving():
        sys.exit(4)
    class endless:
        def __call__(self):
            return self
        def __enter__(self):
            return self
        def __exit__(self, *error): ...
    """,
    )
    project.write("broken.py", "import helper")
    project.write("helper.py", "\n1 / 0")
    project.write("needing.py", "import apackage")
    project.write("leaving.py", "import sys\nsys.exit(3)")
    project.write("unwritten.py", "\ngraph = = 3")

    result = project.run(spec, "hi")

    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"yai-nexus-agentkit: {line}")
    assert result.err.count("\n") == 1


def test_the_traceback_is_there_when_it_is_asked_for(project: Project) -> None:
    project.write("broken.py", "def build():\n    raise ValueError('no key')\ngraph = build()")

    result = project.run("broken:graph", "hi", "--traceback")

    assert result.code == 2
    assert 'broken.py", line 2, in build' in result.err
    assert result.err.endswith("broken cannot be imported: ValueError: no key (broken.py:2, in build)\n")


def test_a_manager_that_fails_when_it_is_closed(project: Project) -> None:
    project.write(
        "my_agent.py",
        BASE
        + """
    @asynccontextmanager
    async def closing_badly():
        yield graph
        raise OSError("connection lost")
    """,
    )

    result = project.run("my_agent:closing_badly", "hi")

    assert result.code == 2
    assert "RUN_FINISHED" in result.out
    assert "my_agent:closing_badly failed when it was closed: OSError: connection lost (my_agent.py:" in result.err
