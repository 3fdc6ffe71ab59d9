"""What an address names, or 404 with a sentence about what to do."""

from fastapi import HTTPException, Request

from conformance.errors import UsageError
from conformance.outcomes import Outcome
from conformance.pairs import PairClass
from conformance.store import Resolved, RunRow, Standing, Store, resolve, standing
from web.answers import View, store_of


def opened(request: Request, run: str) -> tuple[Store, Resolved]:
    """The store, and the run that an address names; 404 when there is none."""
    store = store_of(request)
    return store, run_named(store, run)


def view_of(run: RunRow, title: str, template: str, data: object, **extra: object) -> View:
    """A page of what one run holds: labelled as it is, kept for ever once the run is sealed."""
    return View(
        title=title, template=template, data=data, simulated=run.simulated, extra=extra,
        digest=run.digest if run.sealed else "",
    )  # fmt: skip


def run_named(store: Store, name: str) -> Resolved:
    """The run of an id or of a release's name; 404 when there is none."""
    try:
        return resolve(store, name)
    except UsageError as error:
        raise HTTPException(404, str(error)) from error


def standing_named(store: Store, name: str) -> Standing:
    """The runs that an id or a release's name stands for in a comparison; 404 when there is none."""
    try:
        return standing(store, name)
    except UsageError as error:
        raise HTTPException(404, str(error)) from error


def outcome_named(word: str) -> Outcome:
    """The outcome of a word; 400 names the choices."""
    try:
        return Outcome.from_word(word)
    except ValueError as error:
        raise HTTPException(400, str(error)) from error


def class_named(word: str) -> PairClass:
    """The pair class of a word; 400 names the choices."""
    try:
        return PairClass[word.upper()]
    except KeyError:
        choices = ", ".join(each.word for each in PairClass)
        raise HTTPException(400, f"unknown class {word!r}: choose one of {choices}") from None
