"""The plan of the suite `models`: each unique signature once for each mode and dtype, and which model shares which."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from conformance import expectations
from conformance.errors import UsageError
from conformance.outcomes import Outcome, TestId
from conformance.plan import DEFAULT_DTYPES, DEFAULT_MODES, INVALID_MODEL, MODELS, Decision, PlannedTest, Selection
from sweeps import architectures, attribution, catalogue, signature
from sweeps.attribution import Attributed
from sweeps.catalogue import Entry, Unreadable
from sweeps.configs import completed
from sweeps.reduce import reduce
from sweeps.resolving import Refusal, Resolved, refusal, resolve
from sweeps.signature import Signature

MODES: Final = ("eager", "train", "compile")
DTYPES: Final = ("float32", "bfloat16")
MOST_ARCHITECTURES: Final = 100
"""Architectures of the profile `default`: those whose models are downloaded most."""

SIGNATURES: Final = "signatures.jsonl"


@dataclass(kw_only=True, slots=True)
class Gathered:
    """Everything that a catalogue comes to."""

    signatures: dict[str, Signature] = field(default_factory=dict)
    invalid: dict[str, PlannedTest] = field(default_factory=dict)
    attributed: list[Attributed] = field(default_factory=list)
    _reduced: dict[bytes, Signature] = field(default_factory=dict)
    _known: dict[bytes, Attributed] = field(default_factory=dict)
    _values: dict[str, dict[str, Any]] = field(default_factory=dict)

    def take(self, entry: Entry | Unreadable) -> None:
        """Attribute an entry to its signature or to the reason why it has none."""
        if isinstance(entry, Unreadable):
            refused = self._refused(Refusal(rule="config-refused", reason=entry.reason))
            self.attributed.append(Attributed(id=entry.id, invalid=refused.key))
            return
        print_of = _fingerprint(entry)
        known = self._known.get(print_of)
        if known is None:
            known = self._known[print_of] = self._found(entry)
        self.attributed.append(
            msgspec.structs.replace(known, id=entry.id, downloads=entry.downloads, source=entry.source)
        )

    def _found(self, entry: Entry) -> Attributed:
        resolved = resolve(entry)
        made = self._signed(resolved, entry.id) if isinstance(resolved, Resolved) else resolved
        if isinstance(made, Refusal):
            refused = self._refused(made)
            text = architectures.continues_text(made.architecture, entry.task)
            told = attribution.label(refused)
            return Attributed(id="", invalid=refused.key, architecture=told, text_generation=text)
        assert isinstance(resolved, Resolved)
        return self._line(self.signatures.setdefault(made.id, made), resolved, entry.task)

    def _line(self, found: Signature, resolved: Resolved, task: str) -> Attributed:
        if found.id not in self._values:
            self._values[found.id] = attribution.flat(found.full)
        own, lacks = attribution.difference(attribution.flat(resolved.full), self._values[found.id])
        return Attributed(
            id="", signature=found.id, architecture=found.architecture, origin=resolved.origin, own=own, lacks=lacks,
            left_out=resolved.left_out, text_generation=architectures.continues_text(found.architecture, task),
        )  # fmt: skip

    def _signed(self, resolved: Resolved, model: str) -> Signature | Refusal:
        """The signature of a configuration; most reduce to one that was seen before."""
        try:
            reduced = reduce(resolved.full, resolved.level)
            key = hashlib.blake2b(repr((resolved.architecture, reduced)).encode(), digest_size=16).digest()
            if key not in self._reduced:
                self._reduced[key] = signature_of(resolved, reduced, model)
        except Exception as error:
            # A fault of the reduction is charged to the entry that shows it; the plan goes on.
            return refusal(resolved.architecture, "not-reducible", error)
        return self._reduced[key]

    def _refused(self, refused: Refusal) -> PlannedTest:
        made = _invalid(refused)
        return self.invalid.setdefault(made.key, made)

    def most_downloaded(self, count: int) -> list[Signature]:
        """Of each of the `count` most downloaded architectures the signature with the most downloads."""
        totals: Counter[str] = Counter()
        shares: dict[str, Counter[str]] = {}
        for line in self.attributed:
            if line.signature:
                totals[line.architecture] += line.downloads
                shares.setdefault(line.architecture, Counter())[line.signature] += line.downloads
        ranked = sorted(totals, key=lambda name: (-totals[name], name))[:count]
        return [self.signatures[_most(shares[name])] for name in ranked]


def _most(shares: Counter[str]) -> str:
    return min(shares, key=lambda each: (-shares[each], each))


def _fingerprint(entry: Entry) -> bytes:
    parts = (entry.model_type, entry.architecture, entry.task, entry.dims, entry.config, entry.reduction)
    try:
        return hashlib.blake2b(msgspec.json.encode(parts), digest_size=16).digest()
    except (RecursionError, msgspec.EncodeError, OverflowError, TypeError, ValueError):
        return hashlib.blake2b(f"not to be encoded: {entry.id}".encode("utf-8", "replace"), digest_size=16).digest()


def signature_of(resolved: Resolved, reduced: Mapping[str, Any], model: str) -> Signature:
    """The signature of a reduced configuration that `model` is the first to have. Raises RefusedConfigError."""
    architecture = resolved.architecture
    whole = completed(architecture.model_type, reduced)
    digest = signature.digest(architecture, whole)
    return Signature(
        id=signature.short(digest), digest=digest, model_type=architecture.model_type, architecture=architecture.name,
        family=architecture.family, reduced=whole, full=resolved.full, model=model, origin=resolved.origin,
        left_out=resolved.left_out, level=resolved.level.name,
    )  # fmt: skip


def _invalid(refused: Refusal) -> PlannedTest:
    told = hashlib.blake2b(f"{refused.rule}\0{refused.reason}".encode("utf-8", "replace"), digest_size=16).hexdigest()
    test = TestId(
        suite=MODELS, file=_word(refused.model_type), cls=_word(refused.architecture),
        name=f"{refused.rule}_{told[:8]}", kind=INVALID_MODEL,
    )  # fmt: skip
    outcome = Outcome.SKIP_ENVIRONMENT if refused.rule == "library" else Outcome.INVALID
    decided = Decision(outcome=outcome, rule=refused.rule, reason=refused.reason)
    return PlannedTest(id=test, definition=told, decided=decided)


def _word(text: str) -> str:
    """A name from a catalogue, fit for an identity."""
    return "".join(each if each.isalnum() or each in "-_." else "_" for each in text)[:80] or "unknown"


def collect(selection: Selection, target: str, release: str, folder: Path) -> Iterator[PlannedTest]:
    """Every planned test, what goes with the plan written to `folder`. Raises UsageError for an unknown mode or dtype.

    Tests named by key may have any mode and dtype; a selection of ops or test files has no models in it.
    """
    if selection.ops or selection.tests:
        return
    modes = _known("mode", selection.modes or (MODES if selection.keys else DEFAULT_MODES), MODES)
    dtypes = _known("dtype", selection.dtypes or (DTYPES if selection.keys else DEFAULT_DTYPES), DTYPES)
    gathered = gather(Path(selection.catalogue) if selection.catalogue else catalogue.SHIPPED)
    every = selection.profile == "full" or bool(selection.catalogue) or bool(selection.keys)
    chosen = list(gathered.signatures.values()) if every else gathered.most_downloaded(MOST_ARCHITECTURES)
    keep(gathered, folder)
    coverage, place = expectations.load(target, release), str(folder / SIGNATURES)
    for each in sorted(chosen, key=lambda one: (one.model_type, one.architecture, one.id)):
        for mode in modes:
            for dtype in dtypes:
                yield _planned(each, mode, dtype, place, coverage)
    if every:
        yield from (gathered.invalid[key] for key in sorted(gathered.invalid))


def gather(path: Path) -> Gathered:
    """What a catalogue comes to. Raises UsageError when there is none."""
    gathered = Gathered()
    for entry in catalogue.read(path):
        gathered.take(entry)
    return gathered


def keep(gathered: Gathered, folder: Path) -> None:
    """Write the signatures, the attribution of every entry, and why some have no signature."""
    folder.mkdir(parents=True, exist_ok=True)
    signature.write(folder / SIGNATURES, gathered.signatures.values())
    attribution.write(folder, gathered.attributed, gathered.invalid.values())


def _known(what: str, asked: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    for each in asked:
        if each not in known:
            raise UsageError(f"unknown {what} {each!r}: choose one of {', '.join(known)}")
    return tuple(dict.fromkeys(asked))


def identity(found: Signature, mode: str, dtype: str) -> TestId:
    """The identity of a signature in a mode and dtype."""
    return TestId(
        suite=MODELS, file=found.of.family, cls=found.architecture, name=f"{found.id}_{mode}_{dtype}",
        dtype=dtype, kind=mode,
    )  # fmt: skip


def _planned(found: Signature, mode: str, dtype: str, place: str, coverage: "expectations.Coverage") -> PlannedTest:
    test = identity(found, mode, dtype)
    decided, probed = coverage.decide(test), coverage.probed(test)
    told = hashlib.blake2b(f"{found.digest}\0{mode}\0{dtype}".encode(), digest_size=16).hexdigest()
    expected = None if decided or probed else coverage.expect(test)
    return PlannedTest(id=test, definition=told, decided=decided, expected=expected, probed=probed, where=place)
