"""The models of a run: found by id, and one of them with what was reduced and what that does not show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter, HTTPException, Request

from conformance.outcomes import Outcome
from conformance.store import Resolved, Store, newest_with_models
from sweeps.reports import counts, joined, listing, one
from sweeps.reports.counts import Count
from sweeps.reports.joined import NOT_PLANNED, Joined, Way
from sweeps.reports.listing import Asked, Listed
from sweeps.reports.one import Model
from web.answers import View, page, store_of
from web.pages.choosing import Words
from web.pages.finding import opened, view_of
from web.shapes import Run, run_of

router = APIRouter()

_MODELS_A_PAGE: Final = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """A way to run models."""

    mode: str
    dtype: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Models of a run with one label. `outcomes` is by word, `not_planned` among them, and adds up to `models`."""

    label: str
    models: int
    downloads: int
    signatures: int
    eligible: int
    passed: int
    right: int
    outcomes: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunModels:
    """Models of a run that an address asks for. `total` is the whole catalogue, `found` how many are asked for.

    `ways` are those that the run planned. `next` is the `after` of the next page, None on the last one.
    """

    run: Run | None
    remark: str
    ways: Sequence[Chosen]
    way: Chosen | None
    total: Group | None
    found: int
    models: Sequence[Listed]
    next: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class OneModel:
    """A model of a run, once for each time that its id is in the catalogue."""

    run: Run
    remark: str
    id: str
    entries: Sequence[Model]


@page(router, "/models")
def newest_models(request: Request) -> View:
    """The models of the newest run that has some."""
    store = store_of(request)
    newest = newest_with_models(store)
    if newest is None:
        none = RunModels(run=None, remark="", ways=(), way=None, total=None, found=0, models=(), next=None)
        return View(title="Models", template="models.html", data=none, simulated=False)
    remark = f"the newest run with models is {newest.uid}"
    return _listed(store, Resolved(run=newest, remark=remark), Asked(), "", "", -1, whole=False)


@page(router, "/runs/{run:path}/models")
def run_models(
    request: Request, run: str, q: str = "", outcome: Words = [], architecture: str = "", family: str = "",  # noqa: B006
    signature: str = "", mode: str = "", dtype: str = "", after: int = -1,
) -> View:  # fmt: skip
    """The models of a run, found by a part of their id, outcome, architecture, family or signature."""
    store, found = opened(request, run)
    asked = Asked(
        text=q.strip(), outcomes=frozenset(outcome_named(each) for each in outcome if each), architecture=architecture,
        family=family, signature=signature,
    )  # fmt: skip
    return _listed(store, found, asked, mode, dtype, after, whole=True)


def _listed(store: Store, found: Resolved, asked: Asked, mode: str, dtype: str, after: int, *, whole: bool) -> View:
    models = models_of(store, found)
    way = models.way(mode, dtype)
    rows = listing.listing(models, way, asked, after=after, limit=_MODELS_A_PAGE)
    data = RunModels(
        run=run_of(found.run), remark=found.remark, ways=ways_of(models), way=Chosen(mode=way.mode, dtype=way.dtype),
        total=group_of(counts.total(models, way)), found=rows.total, models=rows.rows, next=rows.after,
    )  # fmt: skip
    title = f"Models of {found.run.uid}"
    if not whole:
        # What the newest run is changes: only an address that names a run may be kept for ever.
        return View(title=title, template="models.html", data=data, simulated=found.run.simulated,
                    extra={"asked": asked, "after": after})  # fmt: skip
    return view_of(found.run, title, "models.html", data, asked=asked, after=after)


@page(router, "/runs/{run:path}/model")
def one_model(request: Request, run: str, id: str = "") -> View:
    """One model: where its configuration is from, what was reduced, what ran where, and what that does not show."""
    store, found = opened(request, run)
    models = models_of(store, found)
    places = listing.places_of(models.table, id)
    if not places:
        near = ", ".join(listing.near(models.table, id))
        told = f"ids like it are {near}" if near else "search for a part of its id"
        raise HTTPException(404, f"run {found.run.uid} has no model {id!r}: {told}")
    entries = [one.model(store, models, each) for each in places]
    data = OneModel(run=run_of(found.run), remark=found.remark, id=id, entries=entries)
    return view_of(found.run, f"{id} in {found.run.uid}", "model.html", data)


def models_of(store: Store, found: Resolved) -> Joined:
    """The models of a run; 404 for a run without any."""
    models = joined.load(store, found.run)
    if models is None:
        raise HTTPException(404, f"run {found.run.uid} has no models: only runs of suite models have some")
    return models


def ways_of(models: Joined) -> list[Chosen]:
    """The ways that a run planned."""
    return [Chosen(mode=each.mode, dtype=each.dtype) for each in models.ways]


def chosen_of(way: Way) -> Chosen:
    """A way as JSON has it."""
    return Chosen(mode=way.mode, dtype=way.dtype)


def group_of(each: Count) -> Group:
    """Counts of models as JSON has them."""
    return Group(
        label=each.label, models=each.entries, downloads=each.downloads, signatures=each.signatures,
        eligible=each.eligible, passed=each.passed, right=each.right, outcomes=each.outcomes,
    )  # fmt: skip


def outcome_named(word: str) -> str:
    """The word of an outcome or `not_planned`; 400 names the choices."""
    if word == NOT_PLANNED:
        return word
    try:
        return Outcome.from_word(word).word
    except ValueError as error:
        raise HTTPException(400, f"{error}, {NOT_PLANNED}") from error
