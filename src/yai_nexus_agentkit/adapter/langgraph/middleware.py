"""Pure. Finds the middleware of an agent that rewrites answers after the model is done, so that they have to wait.

Known is LangChain's `PIIMiddleware`. Any other middleware declares it by a class attribute ``holds_answer = True``, or
by a transformer of LangChain's v3 stream that runs before the built-in ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any, Literal

from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import SystemMessage
from langchain_core.runnables import Runnable
from langgraph.pregel import Pregel

__all__ = ["AgentMiddlewares", "Hold"]

_LIBRARIES = frozenset({"deepagents", "langchain", "langchain_core", "langgraph", "pydantic", "typing"})
"""Packages whose functions refer to no agent of an application, but by their closures."""
_PLAIN = frozenset({type(None), bool, int, float, str, bytes})
"""Values that refer to nothing."""
_COLLECTIONS = (list, tuple, set, frozenset)
_USED = (Runnable, FunctionType)
_PROMPTS = "langchain_core.prompts.chat"
_LIMIT = 20_000
"""Objects that the search looks at; an agent has some hundreds."""


@dataclass(frozen=True, slots=True)
class Hold:
    """How the answers of an agent wait."""

    through: bool
    """The graphs around an agent have to be done with its answers as well."""
    is_last: Callable[[str], bool]
    """No hook that may rewrite an answer runs behind this one."""


class AgentMiddlewares:
    """The middleware of an agent and of the agents in its nodes and tools. One per source."""

    def __init__(self, agent: Runnable[Any, Any]) -> None:
        found = list(_reachable(agent))
        self._graphs = [one for one in found if isinstance(one, Pregel)]
        middlewares = [one for one in found if _is_middleware(one)]
        self.redactors = [one for one in middlewares if _redacts(one)]
        """Instances of `PIIMiddleware` that look at answers or results of tools."""
        self.declares = any(_rewrites(one) for one in middlewares)
        """Some middleware declares that it rewrites answers. `redactors` are not counted."""
        self.instructs = any(map(_instructs, found))
        """The agent makes system messages, as far as it shows: some function or middleware of it does."""

    def hold(self, when: Literal["declared", "answer", "never"]) -> Hold | None:
        """How answers wait, by the option; None: they do not."""
        if when == "never" or (when == "declared" and not self.redactors and not self.declares):
            return None
        # What redactors redact may be sent at a pause: it is redacted on the way as well.
        safe = when == "declared" and not self.declares
        return Hold(through=when == "answer", is_last=bool if safe else self.is_last)

    def is_last(self, hook: str) -> bool:
        """No hook of the same kind runs behind this one. LangChain runs those before a model from the first middleware
        to the last, and those after it from the last to the first."""
        suffix = hook.rpartition(".")[2]
        for graph in self._graphs:
            names = [name for name in graph.nodes if name.endswith(f".{suffix}")]
            if hook in names and hook != names[-1 if suffix.startswith("before") else 0]:
                return False
        return any(hook in graph.nodes for graph in self._graphs)


def _is_instance(value: object, module: str, name: str) -> bool:
    """Without importing the module: where nobody did, there is no such object."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def _is_middleware(value: object) -> bool:
    return _is_instance(value, "langchain.agents.middleware.types", "AgentMiddleware")


def _redacts(middleware: Any) -> bool:
    known = _is_instance(middleware, "langchain.agents.middleware.pii", "PIIMiddleware")
    return known and bool(middleware.apply_to_output or middleware.apply_to_tool_results)


def _rewrites(middleware: Any) -> bool:
    if getattr(middleware, "holds_answer", False):
        return True
    if _redacts(middleware):
        return False
    for transformer in getattr(middleware, "transformers", ()):
        kind = transformer.func if isinstance(transformer, partial) else transformer
        hides = getattr(kind, "__name__", "") == "InternalCallTransformer"  # leaves calls out and rewrites nothing
        if getattr(kind, "before_builtins", False) and not hides:
            return True
    return False


def _instructs(one: object) -> bool:
    """A system message, a prompt with one, or something whose code makes one."""
    if isinstance(one, SystemMessage) or _is_instance(one, _PROMPTS, "SystemMessagePromptTemplate"):
        return True
    if _is_instance(one, _PROMPTS, "ChatPromptTemplate"):
        return any(map(_instructs, one.messages))  # type: ignore[attr-defined]
    if isinstance(one, FunctionType):
        return not _is_of_library(one) and _makes_system(one.__code__)
    if not _is_middleware(one):
        return False
    own = [kind for kind in type(one).__mro__ if kind.__name__ != "AgentMiddleware"]
    methods = (value for kind in own for value in vars(kind).values() if isinstance(value, FunctionType))
    return any("SystemMessage" in method.__code__.co_names for method in methods)


def _makes_system(code: CodeType) -> bool:
    """The code uses the class of system messages, or writes the role: ``("system", text)``, ``{"role": "system"}``."""
    if "SystemMessage" in code.co_names:
        return True
    consts = [part for const in code.co_consts for part in (const if isinstance(const, tuple) else (const,))]
    return "system" in consts or any(_makes_system(const) for const in consts if isinstance(const, CodeType))


def _reachable(agent: object) -> Iterator[object]:
    """The objects that an agent is made of: nodes, tools, middleware, and what their functions refer to."""
    seen: set[int] = set()
    waiting: list[object] = [agent]
    while waiting and len(seen) < _LIMIT:
        one = waiting.pop()
        if type(one) not in _PLAIN and id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting.extend(_parts(one))


def _parts(one: object) -> Iterable[object]:
    if isinstance(one, Pregel):
        return [node.bound for node in one.nodes.values()]
    if isinstance(one, FunctionType):
        return _referred(one)
    if isinstance(one, MethodType):
        return (one.__self__, one.__func__)
    if isinstance(one, partial):
        return (one.func, *one.args, *one.keywords.values())
    if isinstance(one, Mapping):
        return one.values()
    if isinstance(one, _COLLECTIONS):
        return one
    if isinstance(one, BaseLanguageModel):
        return ()
    return list(vars(one).values()) if isinstance(one, Runnable) or _is_middleware(one) else ()


def _is_of_library(function: FunctionType) -> bool:
    """A function that code made may have no module."""
    return (function.__module__ or "").partition(".")[0] in _LIBRARIES


def _referred(function: FunctionType) -> list[object]:
    """The values of a function's closure, and the runnables among its module's names that it uses."""
    found: list[object] = []
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # not set yet
            continue
    if _is_of_library(function):
        return found
    named = (function.__globals__.get(name) for name in function.__code__.co_names)
    return [*found, *(value for value in named if isinstance(value, _USED))]
