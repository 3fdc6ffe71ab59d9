"""Errors as pages that say what to do, and as problem+json under `.json`."""

from http import HTTPStatus

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from conformance.errors import ConformanceError, StoreError, UsageError
from web import frame


def register(app: FastAPI) -> None:
    """Have the application answer errors so."""
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(ConformanceError, _ours)
    app.add_exception_handler(Exception, _unforeseen)


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    missing = error.detail == HTTPStatus.NOT_FOUND.phrase
    return problem(request, error.status_code, "there is no page at this address" if missing else error.detail)


def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = first["loc"][-1] if first["loc"] else "the address"
    return problem(request, 400, f"the parameter {where!r} is wrong: {str(first['msg']).lower()}")


def _ours(request: Request, error: Exception) -> Response:
    if isinstance(error, StoreError):
        return problem(request, 503, str(error), {"Retry-After": "5"})
    return problem(request, 400 if isinstance(error, UsageError) else 409, str(error))


def _unforeseen(request: Request, _error: Exception) -> Response:
    # The traceback is in the server's log; a page must not show it.
    return problem(request, 500, "this page failed for a reason that nobody foresaw: the server's log has the details")


def problem(request: Request, status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    """One sentence about what is wrong, in the form that was asked for."""
    phrase = HTTPStatus(status).phrase
    kept = {"Cache-Control": "no-store", **(headers or {})}
    if request.url.path.endswith(".json"):
        body = msgspec.json.encode({"type": "about:blank", "title": phrase, "status": status, "detail": sentence})
        return Response(body, status, headers=kept, media_type="application/problem+json")
    values = {"title": phrase, "status": status, "sentence": sentence, "simulated": False, "twin": ""}
    body = frame.render("problem.html", values).encode("utf-8", "backslashreplace")
    return Response(body, status, headers=kept, media_type="text/html; charset=utf-8")
