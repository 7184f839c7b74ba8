"""Edge. Loads the agent that a spec names: ``module:attribute`` or ``path/to/file.py:attribute``.

The attribute can be

- a compiled graph, another runnable, an `AGUIAdapter`, or a `Source`;
- a function, sync or async, with or without a config argument, that returns one of these;
- a context manager, sync or async, that yields one, or a function that returns such a context manager.

Every mistake is a `CommandError` of one line.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from yai_nexus_agentkit.cli.failures import CommandError, summary

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable, RunnableConfig

    from yai_nexus_agentkit import AGUIAdapter, Source

__all__ = ["Agent", "Spec", "find", "made", "opened", "parse_spec"]

Agent: TypeAlias = "Runnable[Any, Any] | Source | AGUIAdapter"

_EXPECTED = "expected a compiled graph, a runnable, an AGUIAdapter, or a function or context manager that gives one"
_MAX_HOPS = 5
"""A function gives an awaitable gives a context manager gives a graph: four hops."""


@dataclass(frozen=True, slots=True)
class Spec:
    """The place of an agent: in a module on the import path, or in a file."""

    text: str
    module: str
    """A module's dotted name, or a path that ends with ``.py``."""
    attribute: str
    """May be dotted."""

    @property
    def is_file(self) -> bool:
        return self.module.endswith(".py")


def parse_spec(text: str) -> Spec:
    """``module:attribute`` or ``path/to/file.py:attribute``. Raises `CommandError`."""
    module, colon, attribute = text.rpartition(":")
    names = attribute.split(".")
    if not colon or not module or not all(name.isidentifier() for name in names):
        path = Path(text)
        example = text if text.endswith(".py") else ".".join(path.parts).partition(":")[0] or "my_agent"
        raise CommandError(f"{text!r} does not name an agent: write module:attribute, as in {example}:graph")
    if not module.endswith(".py") and not all(name.isidentifier() for name in module.split(".")):
        raise CommandError(f"{module!r} is neither a module's name nor the path of a .py file")
    return Spec(text, module, attribute)


def find(spec: Spec) -> Any:
    """The object that the spec names, imported with the current folder on the path. Raises `CommandError`."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    module = _from_file(spec) if spec.is_file else _from_name(spec.module)
    value: Any = module
    reached = spec.module
    for name in spec.attribute.split("."):
        try:
            value = getattr(value, name)
        except AttributeError:
            raise CommandError(f"{reached} has no attribute {name!r}{_near(name, dir(value))}") from None
        except Exception as error:
            raise CommandError(f"{reached} cannot give {name!r}: {summary(error)}") from error
        reached = f"{reached}:{name}" if reached == spec.module else f"{reached}.{name}"
    return value


@asynccontextmanager
async def opened(
    found: Any, name: str, config: RunnableConfig | Mapping[str, Any] | None = None
) -> AsyncIterator[Agent]:
    """The agent of the object that `find` returned. Functions that take a config get `config`; context managers are
    closed at the end of the block.

    Raises `CommandError`: it is not an agent, or the user's code raised. Errors of the body pass.
    """
    stack = AsyncExitStack()
    try:
        yield await _resolve(found, name, config or {}, stack)
    except BaseException:
        await stack.__aexit__(*sys.exc_info())
        raise
    try:
        await stack.aclose()
    except Exception as error:
        raise CommandError(f"{name} failed when it was closed: {summary(error)}") from error


async def made(found: Any, name: str, config: RunnableConfig | Mapping[str, Any]) -> Agent:
    """Like `opened`, but for one request. Context managers are refused: nobody would close them."""
    return await _resolve(found, name, config, None)


# ---------------------------------------------------------------- importing


def _from_name(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise CommandError(f"there is no module {name!r}{_near_module(name)}") from error
        raise CommandError(f"{name} cannot be imported: {summary(error)}") from error
    except (Exception, SystemExit) as error:
        raise CommandError(f"{name} cannot be imported: {summary(error)}") from error


def _from_file(spec: Spec) -> ModuleType:
    path = Path(spec.module).resolve()
    if path.is_dir():
        raise CommandError(f"{spec.module} is a folder, and no file")
    if not path.is_file():
        files = [file.name for file in path.parent.glob("*.py")]
        raise CommandError(f"there is no file {spec.module}{_near(path.name, files)}")
    name = _module_name(path)
    if name is not None:
        return _from_name(name)
    # As for a script: the file can import its neighbours.
    if str(path.parent) not in sys.path:
        sys.path.insert(1, str(path.parent))
    # A file with the name of another module, such as json.py, must not take its place.
    free = path.stem not in sys.modules and path.stem not in sys.stdlib_module_names
    described = importlib.util.spec_from_file_location(path.stem if free else f"{path.stem}_file", path)
    if described is None or described.loader is None:
        raise CommandError(f"{spec.module} cannot be imported")
    # In `sys.modules` first: dataclasses and type hints look up their module while it is executed.
    module = sys.modules[described.name] = importlib.util.module_from_spec(described)
    try:
        described.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[described.name]
        raise CommandError(f"{spec.module} cannot be imported: {summary(error)}{_elsewhere(path, error)}") from error
    return module


def _elsewhere(path: Path, error: BaseException) -> str:
    """The folder from which the file's own package can be imported, if the import of that failed."""
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return ""
    package = error.name.partition(".")[0]
    above = next((folder.parent for folder in path.parents if folder.name == package), None)
    return f"; run the command in {above}, the folder above {package!r}" if above is not None else ""


def _module_name(path: Path) -> str | None:
    """The dotted name by which the file can be imported from the current folder, together with its package."""
    try:
        parts = path.relative_to(Path.cwd().resolve()).with_suffix("").parts
    except ValueError:
        return None
    if not all(part.isidentifier() for part in parts):
        return None
    name = ".".join(parts)
    try:
        described = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    same = described is not None and described.origin is not None and Path(described.origin).resolve() == path
    return name if same else None


def _near(name: str, names: Iterable[str], otherwise: str = "") -> str:
    """A question that suggests similar names."""
    near = difflib.get_close_matches(name, [n for n in names if not n.startswith("__")], n=3)
    return f"; did you mean {' or '.join(near)}?" if near else otherwise


def _near_module(name: str) -> str:
    parent = name.rpartition(".")[0]
    found = pkgutil.iter_modules([str(Path(*parent.split(".")))], f"{parent}." if parent else "")
    return _near(name, [module.name for module in found], " in this folder or on the import path")


# ---------------------------------------------------------------- the object that was found


async def _resolve(value: Any, name: str, config: Mapping[str, Any], stack: AsyncExitStack | None) -> Agent:
    for _ in range(_MAX_HOPS):
        agent = _as_agent(value)
        if agent is not None:
            return agent
        if stack is None and isinstance(value, (AbstractAsyncContextManager, AbstractContextManager)):
            raise CommandError(f"{name} is a context manager; --per-request needs a function")
        try:
            if stack is not None and isinstance(value, AbstractAsyncContextManager):
                value = await stack.enter_async_context(value)
            elif stack is not None and isinstance(value, AbstractContextManager):
                value = stack.enter_context(value)
            elif inspect.isawaitable(value):
                value = await value
            else:
                value = _called(value, name, config)
        except CommandError:
            raise
        except (Exception, SystemExit) as error:
            raise CommandError(f"{name} raised {summary(error)}") from error
    raise CommandError(f"{name} gives an object of type {type(value).__name__}; {_EXPECTED}")


def _as_agent(value: Any) -> Agent | None:
    from yai_nexus_agentkit import AGUIAdapter
    from yai_nexus_agentkit.adapter.frameworks import is_agent

    return value if isinstance(value, AGUIAdapter) or is_agent(value) else None


def _called(value: Any, name: str, config: Mapping[str, Any]) -> Any:
    if not callable(value) or inspect.ismodule(value):
        if hasattr(value, "compile"):
            raise CommandError(f"{name} is a {type(value).__name__} that is not compiled: call its .compile()")
        what = f"the module {value.__name__}" if inspect.ismodule(value) else f"of type {type(value).__name__}"
        decorator = "contextlib.asynccontextmanager" if inspect.isasyncgen(value) else "contextlib.contextmanager"
        if inspect.isasyncgen(value) or inspect.isgenerator(value):
            raise CommandError(f"{name} is a generator: decorate its function with @{decorator}")
        raise CommandError(f"{name} is {what}; {_EXPECTED}")
    return value(config) if _takes_config(value, name) else value()


def _takes_config(function: Any, name: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False  # A built-in without a signature.
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p.name for p in positional if p.default is p.empty]
    required += [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if len(required) > 1 or (required and required[0] not in [p.name for p in positional]):
        raise CommandError(f"{name} needs the arguments {', '.join(required)}; a factory takes none, or the config")
    first = positional[0] if positional else None
    return first is not None and (bool(required) or first.name == "config")
