"""The documentation names everything that a user can set, call or meet."""

import re
from pathlib import Path

from conformance import cli, suites, targets
from conformance.outcomes import Outcome
from conformance.pairs import PairClass

ROOT = Path(__file__).parents[2]
DOCS = "\n".join(each.read_text() for each in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))])


def named(word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", DOCS) is not None


def test_every_outcome_and_every_pair_class_is_documented() -> None:
    assert not [each.word for each in Outcome if not named(each.word)]
    assert not [each.word for each in PairClass if not named(each.word)]


def test_every_command_target_and_suite_is_documented() -> None:
    assert not [each for each in cli.COMMANDS if f"conformance {each}" not in DOCS]
    assert not [each for each in (*targets.names(), *suites.names()) if not named(each)]


def test_every_environment_variable_is_documented() -> None:
    pattern = re.compile(r"[\"'](CONFORMANCE_[A-Z_]+|DATABASE_URL|TORCH_INDEX)[\"']")
    sources = [each for package in ("conformance", "web", "migrations") for each in (ROOT / package).rglob("*.py")]
    used = {found for each in sources for found in pattern.findall(each.read_text())}
    assert used
    assert not sorted(each for each in used if not named(each))


def test_every_make_target_is_documented() -> None:
    made = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert not [each for each in made if f"make {each}" not in DOCS]


def test_every_dependency_has_its_line() -> None:
    text = (ROOT / "docs" / "dependencies.md").read_text().lower()
    project = (ROOT / "pyproject.toml").read_text()
    wanted = re.findall(r"^    \"([a-zA-Z0-9_-]+)[\[><=;]", project, re.MULTILINE)
    assert "torch" in wanted
    assert not [each for each in wanted if f"`{each.lower()}`" not in text]


def test_every_link_between_documents_leads_somewhere() -> None:
    broken = []
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
            if not (path.parent / target).exists():
                broken.append(f"{path.name}: {target}")
    assert not broken
