"""The application: pages over one open store."""

from typing import Final
from urllib.parse import unquote

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import RedirectResponse
from starlette.middleware.gzip import GZipMiddleware

import conformance
from conformance.store import Store
from web import assets, health, problems
from web.headers import Headers
from web.pages import architectures, diffs, matrix, models, ops, runs, tests, trends

_WORTH_PACKING: Final = 1_000
_EFFORT: Final = 4
"""A matrix of 600 kB packs to a twelfth at 4; at 9 it takes three times as long for one part in ten less."""


def create(store: Store) -> FastAPI:
    """The application on a store, which the caller closes."""
    app = FastAPI(
        title="Neuron Conformance", version=conformance.__version__, docs_url=None, redoc_url=None,
        dependencies=[Depends(_without_nul)],
        description="Every page has a JSON twin under the same address with .json.",
    )  # fmt: skip
    app.state.store = store
    app.add_middleware(GZipMiddleware, minimum_size=_WORTH_PACKING, compresslevel=_EFFORT)
    app.add_middleware(Headers)
    problems.register(app)
    app.add_api_route("/", _home, include_in_schema=False)
    # The address of a run takes everything that the more particular ones before it leave.
    for router in (
        health.router, assets.router, tests.router, diffs.router, trends.router, matrix.router, ops.router,
        models.router, architectures.router, runs.router,
    ):  # fmt: skip
        app.include_router(router)
    return app


async def _without_nul(request: Request) -> None:
    # The database refuses it in any text, so that nothing stored can have it; a refusal would look like a failure.
    if "\0" in request.url.path or "\0" in unquote(request.url.query):
        raise HTTPException(400, "no name has a NUL character: leave %00 out of the address")


async def _home() -> RedirectResponse:
    return RedirectResponse("/runs", 307)
