"""`conformance upstream`: PyTorch's own test files, fetched and listed."""

import sys
from typing import Any, Final

import click

from conformance import settings
from conformance.cli import screen
from conformance.errors import ExitCode, UsageError
from conformance.upstream import checkout, choice, classes, installed, manifest
from conformance.upstream.installed import Torch
from conformance.upstream.manifest import File, Listing
from conformance.upstream.tree import Tree

_CLEAN: Final = bytes(set(range(256)) - set(range(32)) - {127} | {9, 10, 13})
_STATES: Final = ("run", "full", "left-out", "unlisted", "missing")
_tree = click.option("--upstream", "path", metavar="PATH", help="A PyTorch source tree.  [default: the fetched one]")
_format = click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)


@click.group()
def upstream() -> None:
    """Fetch PyTorch's test files, and list which of them a run takes.

    Example: conformance upstream fetch
    """


@upstream.command()
@click.option("--remote", default=checkout.REMOTE, show_default=True, help="A git repository of PyTorch's.")
@click.option("--tag", metavar="TAG", help="Fetch this tag.  [default: that of the installed torch]")
@click.option("--commit", metavar="SHA", help="Demand this commit.  [default: the one torch was built from]")
@click.option("--force", is_flag=True, help="Fetch again what is there.")
def fetch(remote: str, tag: str | None, commit: str | None, force: bool) -> int:
    """Get the test files of the installed torch, or of a tag, into the cache; prints where they are.

    Example: conformance upstream fetch --remote https://git.example.com/pytorch.git
    """
    known, wanted = settings.load(), checkout.Wanted.of(installed(), tag, commit)
    screen.remark(f"getting {wanted.name}, from {screen.safe(checkout.public(remote))} unless it is here …")
    show = _show if sys.stderr.isatty() else None
    found, new = checkout.fetch(known.cache, remote, wanted, show, force=force)
    screen.say(str(found.root))
    done = "fetched" if new else "there already, and as it was fetched"
    return screen.finish(ExitCode.FINE, f"PyTorch {found.version} at commit {found.commit}: {done}")


def _show(progress: bytes) -> None:
    """git's own progress; what a remote says cannot take the terminal over."""
    sys.stderr.write(bytes(each for each in progress if each in _CLEAN).decode("utf-8", "replace"))
    sys.stderr.flush()


@upstream.command()
@_tree
@_format
def status(path: str | None, form: str) -> int:
    """Say which tree a run would take, its version and commit, what was changed in it, and whether it fits torch.

    Example: conformance upstream status
    """
    torch = installed()
    found = choice.find(settings.load().cache, torch, path)
    facts = {} if found is None else found.facts(torch)
    if form == "json":
        screen.say_json(
            {"torch": torch.version, "tree": facts or None, "fits": found is not None and found.fits(torch)}
        )
    else:
        rows = [(name.removeprefix("upstream."), value) for name, value in facts.items() if value]
        screen.say_table(("tree", "value"), rows)
    return screen.finish(ExitCode.FINE, _state(found, torch))


def _state(found: Tree | None, torch: Torch) -> str:
    if found is None:
        return f"no test files for torch {torch.version}: `conformance upstream fetch` gets them"
    return f"the tests of PyTorch {found.version} {'fit' if found.fits(torch) else 'do not fit'} torch {torch.version}"


@upstream.command("path")
@click.option("--tag", metavar="TAG", help="The fetched tree of this tag.  [default: that of the installed torch]")
def show_path(tag: str | None) -> None:
    """Print the root of the tree, for other commands.

    Example: ls "$(conformance upstream path)/test"
    """
    cache, torch = settings.load().cache, installed()
    if tag is None:
        screen.say(str(choice.require(cache, torch).root))
        return
    found = checkout.fetched(cache, checkout.Wanted.of(torch, tag, None).name)
    if found is None:
        raise UsageError(f"tag {tag} was not fetched: `conformance upstream fetch --tag {tag}` gets it")
    screen.say(str(found.root))


@upstream.command()
@click.argument("file", required=False)
@click.option("--profile", type=click.Choice(["default", "full"]), default="default", show_default=True)
@click.option("--state", type=click.Choice(_STATES), help="Only files that are run, left out, or not known.")
@_tree
@click.option("--format", "form", type=click.Choice(["table", "json", "ndjson"]), default="table", show_default=True)
def files(file: str | None, profile: manifest.Profile, state: str | None, path: str | None, form: str) -> int:
    """List the tree's test files: which a run over a profile takes, and why not the others. Or one file's classes.

    Example: conformance upstream files --state unlisted
    """
    found = choice.require(settings.load().cache, installed(), path)
    listing = manifest.shipped().look(found, profile)
    if file is not None:
        return _show_classes(found, listing, file, form)
    rows = [each for each in _rows(found, listing) if state in (None, each["state"])]
    if form == "json":
        screen.say_json({"version": found.version, "profile": profile, "summary": listing.sentence, "files": rows})
    elif form == "ndjson":
        screen.say_lines(rows)
    else:
        names = ("file", "state", "group", "reason")
        screen.say_table(names, [[each[name] for name in names] for each in rows])
    return screen.finish(ExitCode.FINE, listing.sentence)


def _rows(found: Tree, listing: Listing) -> list[dict[str, Any]]:
    chosen = {each.path for each in listing.chosen}
    rows = [_row(found, each, each.path in chosen) for each in listing.files]
    return rows + [
        {"file": path, "state": "missing", "group": "", "reason": "", "classes": []} for path in listing.missing
    ]


def _row(found: Tree, file: File, chosen: bool) -> dict[str, Any]:
    state = ("run" if chosen else "full") if file.run else "left-out" if file.reason else "unlisted"
    made = not file.run and manifest.makes_device_tests(found, file.path)
    return {
        "file": file.path, "state": state, "group": file.run.group if file.run else "",
        "reason": file.reason + (" (it makes tests for devices)" if made else ""), "classes": list(file.classes),
    }  # fmt: skip


def _show_classes(found: Tree, listing: Listing, asked: str, form: str) -> int:
    name = found.within(asked)
    file = next((each for each in listing.files if each.path == name), None)
    if file is None:
        raise UsageError(f"{asked!r} is no test file of {found.root}: `conformance upstream files` lists them")
    told = classes.read((found.tests / name).read_text(encoding="utf-8", errors="replace"))
    rows = [(each, "run" if file.run and each in file.classes else "left out", why) for each, why in told.reasons()]
    if form == "table":
        screen.say_table(("class", "state", "made for"), rows)
    else:
        screen.say_json(
            {"file": name, "classes": [dict(zip(("class", "state", "made_for"), row, strict=True)) for row in rows]}
        )
    state = _row(found, file, file in listing.chosen)
    return screen.finish(
        ExitCode.FINE, f"{name}: {state['state']}" + (f", {state['reason']}" if state["reason"] else "")
    )
