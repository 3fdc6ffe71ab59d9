"""What an address names, or 404 with a sentence about what to do."""

from fastapi import HTTPException

from conformance.errors import UsageError
from conformance.outcomes import Outcome
from conformance.pairs import PairClass
from conformance.store import Resolved, Store, resolve


def run_named(store: Store, name: str) -> Resolved:
    """The run of an id or of a release's name; 404 when there is none."""
    try:
        return resolve(store, name)
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
