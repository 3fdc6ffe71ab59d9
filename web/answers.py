"""One handler, two forms: what a handler returns becomes a page, and under `.json` the same data as JSON."""

import dataclasses
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Final
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Request, Response

from conformance.store import Store
from web import frame
from web.assets import FOR_EVER

_REVALIDATE: Final = "no-cache"
"""A cache may keep the page and asks each time whether it is still the same (ETag)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """What a handler found: `data` is shown in both forms, `extra` by the template alone.

    `digest` is set when all of `data` follows from one sealed run: an address that carries it never changes.
    """

    title: str
    template: str
    data: object
    simulated: bool
    extra: Mapping[str, object] = field(default_factory=dict)
    digest: str = ""


def store_of(request: Request) -> Store:
    """The store that this application reads."""
    store: Store = request.app.state.store
    return store


def page(router: APIRouter, path: str) -> Callable[[Callable[..., View]], Callable[..., View]]:
    """Serve a handler as HTML under `path` and as JSON under `path` + `.json`."""

    def register(handler: Callable[..., View]) -> Callable[..., View]:
        @wraps(handler)
        def as_json(request: Request, **values: object) -> Response:
            return _json(request, handler(request=request, **values))

        @wraps(handler)
        def as_html(request: Request, **values: object) -> Response:
            return _html(request, handler(request=request, **values))

        # JSON first: a path parameter that takes slashes would swallow the suffix.
        router.add_api_route(f"{path}.json", as_json, response_model=None, name=handler.__name__)
        router.add_api_route(path, as_html, response_model=None, include_in_schema=False)
        return handler

    return register


def _json(request: Request, view: View) -> Response:
    body = msgspec.json.encode({"title": view.title, "simulated": view.simulated, **_fields(view.data)})
    fixed = bool(view.digest) and request.query_params.get("digest") == view.digest
    return tagged(request, body, "application/json", FOR_EVER if fixed else _REVALIDATE)


def _fields(data: Any) -> dict[str, object]:
    return {each.name: getattr(data, each.name) for each in dataclasses.fields(data)}


def _html(request: Request, view: View) -> Response:
    values = {
        "title": view.title, "simulated": view.simulated, "data": view.data, **view.extra,
        "twin": _twin(request),
    }  # fmt: skip
    body = frame.render(view.template, values).encode("utf-8", "backslashreplace")
    return tagged(request, body, "text/html; charset=utf-8", _REVALIDATE)


def _twin(request: Request) -> str:
    # The path is decoded already: a run's id may have any character in it.
    path = f"{quote(request.scope['path'].rstrip('/'), errors='replace')}.json"
    return f"{path}?{request.url.query}" if request.url.query else path


def tagged(request: Request, body: bytes, media_type: str, caching: str) -> Response:
    """The body with its ETag, or 304 when the client has it. Weak, since the body may be sent compressed."""
    tag = f'W/"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    headers = {"ETag": tag, "Cache-Control": caching}
    known = [each.strip() for each in request.headers.get("if-none-match", "").split(",")]
    if tag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)
