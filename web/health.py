"""For whoever watches the process: is it alive, can it answer."""

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response

from conformance.errors import StoreError
from web.answers import store_of

router = APIRouter()
_NOT_KEPT = {"Cache-Control": "no-store"}


@router.get("/healthz", response_class=PlainTextResponse)
async def healthz() -> Response:
    """The process answers; nothing else is looked at."""
    return PlainTextResponse("ok\n", headers=_NOT_KEPT)


@router.get("/readyz", response_class=PlainTextResponse)
def readyz(request: Request) -> Response:
    """The database answers and has the schema that this program reads; 503 with one sentence otherwise."""
    try:
        store_of(request).ready()
    except StoreError as error:
        return PlainTextResponse(f"{error}\n", 503, headers=_NOT_KEPT | {"Retry-After": "5"})
    return PlainTextResponse("ready\n", headers=_NOT_KEPT)
