"""An application with the chat page behind a prefix and a sign-in by cookie, as somebody would build it."""

from __future__ import annotations

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from tests.support.serving import asker, talker
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.server import Identity, ServerSettings, add_agui_routes, add_page

__all__ = ["app"]


def signed_in(request: Request) -> str:
    """The user of a request."""
    user = request.cookies.get("user")
    if user is None:
        raise HTTPException(401, "sign in first")
    return user


async def identity(request: Request) -> Identity:
    return Identity(user=signed_in(request))


def app() -> FastAPI:
    settings = ServerSettings(identity=identity, disconnect_by_request=True)
    router = APIRouter(prefix="/inside")
    service = add_agui_routes(router, AGUIAdapter(talker(5)), "/talker", settings=settings)
    add_agui_routes(router, AGUIAdapter(asker()), "/asker", settings=settings, service=service)
    agents = {"Talker": "/talker", "Asker": "/asker"}
    add_page(router, agents, "/show", title="House", settings=settings, dependencies=[Depends(signed_in)])

    made = FastAPI()
    made.include_router(router, prefix="/team")

    @made.get("/sign-in/{user}")
    def sign_in(user: str) -> RedirectResponse:
        response = RedirectResponse("/team/inside/show")
        response.set_cookie("user", user, httponly=True, samesite="strict")
        return response

    @made.get("/sign-out")
    def sign_out(response: Response) -> None:
        response.delete_cookie("user")

    return made
