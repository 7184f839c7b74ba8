"""Applications that routes can be put into."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from fastapi import APIRouter, Depends, FastAPI, Header, HTTPException
from starlette.applications import Starlette

__all__ = ["KINDS", "Kind", "Place", "place"]

Kind = Literal["starlette", "fastapi", "router"]
KINDS: tuple[Kind, ...] = ("starlette", "fastapi", "router")


class Place(NamedTuple):
    """Where routes go."""

    app: Any
    """The application, to be called when it is complete."""
    at: Any
    """The application, or a router of it, to put routes into."""
    prefix: str
    """Stands before the paths of the routes."""
    guards: list[Any]
    """Dependencies that let only Ann in (``x-user: ann``). Starlette has none."""

    def complete(self) -> None:
        """Put the router into the application."""
        if self.at is not self.app:
            self.app.include_router(self.at)


def place(kind: Kind) -> Place:
    def guarded(x_user: str = Header(default="")) -> None:
        if x_user != "ann":
            raise HTTPException(403, "no")

    app: Any = Starlette() if kind == "starlette" else FastAPI()
    guards = [] if kind == "starlette" else [Depends(guarded)]
    return Place(app, APIRouter(prefix="/api"), "/api", guards) if kind == "router" else Place(app, app, "", guards)
