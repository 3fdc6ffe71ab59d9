"""The store: runs in PostgreSQL, and every question that pages and commands ask of them."""

from conformance.store.catalogue import (
    Catalogue,
    TestRow,
    catalogue,
    find_test,
    numbered_tests,
    search_tests,
    suites_of,
)
from conformance.store.causes import Cause, blocking_mask, cause_named, causes, keys_of
from conformance.store.compare import Comparison, compare
from conformance.store.diff_rows import DiffPage, DiffRow, NamedGroup, SideOf, diff_rows, every_change, named_groups
from conformance.store.ingest import Ingested, ingest
from conformance.store.inventories import find as find_inventory
from conformance.store.models import (
    ModelFacts,
    ModelTable,
    configs_of,
    facts_of,
    has_models,
    newest_with_models,
    own_of,
)
from conformance.store.models import find as find_models
from conformance.store.phrases import Kind
from conformance.store.readings import seconds, status
from conformance.store.results import (
    AttemptRow,
    Filter,
    HistoryRow,
    OutcomePage,
    OutcomeRow,
    attempts_of,
    details_of,
    every_outcome,
    history,
    outcome_rows,
    rows_of,
    slowest,
)
from conformance.store.rightness import once_right
from conformance.store.runs import Resolved, RunRow, find_run, list_runs, resolve
from conformance.store.standings import Standing, conditions, earlier_releases, standing
from conformance.store.store import Store, open_store
from conformance.store.tallies import Matrix, Tally, by_outcome, matrix, tally
from conformance.store.trends import Point, targets_of, trend

__all__ = [
    "AttemptRow",
    "Catalogue",
    "Cause",
    "Comparison",
    "DiffPage",
    "DiffRow",
    "Filter",
    "HistoryRow",
    "Ingested",
    "Kind",
    "Matrix",
    "ModelFacts",
    "ModelTable",
    "NamedGroup",
    "OutcomePage",
    "OutcomeRow",
    "Point",
    "Resolved",
    "RunRow",
    "SideOf",
    "Standing",
    "Store",
    "Tally",
    "TestRow",
    "attempts_of",
    "blocking_mask",
    "by_outcome",
    "catalogue",
    "cause_named",
    "causes",
    "compare",
    "conditions",
    "configs_of",
    "details_of",
    "diff_rows",
    "earlier_releases",
    "every_change",
    "every_outcome",
    "facts_of",
    "find_inventory",
    "find_models",
    "find_run",
    "find_test",
    "has_models",
    "history",
    "ingest",
    "keys_of",
    "list_runs",
    "matrix",
    "named_groups",
    "newest_with_models",
    "numbered_tests",
    "once_right",
    "open_store",
    "outcome_rows",
    "own_of",
    "resolve",
    "rows_of",
    "search_tests",
    "seconds",
    "slowest",
    "standing",
    "status",
    "suites_of",
    "tally",
    "targets_of",
    "trend",
]
