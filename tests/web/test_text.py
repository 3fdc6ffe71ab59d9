"""Foreign text is made visible and harmless."""

import shlex
import subprocess
import unicodedata
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from conformance.outcomes import TestId
from conformance.plan import Selection
from tests.sites import HOSTILE
from web import reproduce, text


@given(st.text(alphabet=st.characters(codec=None), max_size=60))
def test_nothing_invisible_is_left(foreign: str) -> None:
    shown = text.visible(foreign)
    kept = {each for each in shown if unicodedata.category(each) in {"Cc", "Cs"}}
    assert kept <= {"\n", "\t"}
    assert not {each for each in shown if unicodedata.bidirectional(each) in {"RLO", "LRO", "RLE", "LRE", "PDF", "RLI"}}
    shown.encode()


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_stays_as_it_is(plain: str) -> None:
    assert text.visible(plain) == plain


def test_a_name_is_one_line_of_bounded_length_that_says_what_is_missing() -> None:
    assert text.name("one\ntwo\t") == "one\\ntwo\\t"
    long = text.name(HOSTILE["long"])
    assert len(long) < 250
    assert "9,820 characters" in long


def test_colours_of_a_terminal_are_dropped_from_output_but_not_from_names() -> None:
    assert (
        text.output("\x1b[1;31mred\x1b[0m\r\nnext \x1b]8;;http://x\x07link\x1b]8;;\x07 \x1b") == "red\nnext link \\x1b"
    )
    assert text.name("\x1b[1mbold") == "\\x1b[1mbold"


def test_an_excerpt_is_one_line_and_ends_with_a_mark_where_it_was_cut() -> None:
    assert text.excerpt("a\n\n  b\tc", 20) == "a b c"
    assert text.excerpt("word " * 50, 20) == "word word word word…"


def test_the_command_to_reproduce_survives_a_shell_whatever_the_test_is_called() -> None:
    for name in HOSTILE.values():
        if "\0" in name:
            continue
        command = reproduce.command(name, "sim", "sim-1.0")
        assert command.isprintable()
        spoken = command.replace("conformance repro", "printf %s", 1).partition(" --target")[0]
        said = subprocess.run(["bash", "-c", spoken], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
        assert said.stdout.decode() == name


def test_a_plain_name_is_quoted_as_usual() -> None:
    assert reproduce.shell_word("ops::a b") == shlex.quote("ops::a b")


def test_a_test_of_a_file_given_by_path_is_reproduced_with_that_file() -> None:
    test = TestId(suite="upstream", file="mine/test_a", cls="C", name="test_x[a::b]")
    asked = Selection(
        suites=("upstream",), tests=("/t/tests/mine/test_a.py", "/t/tests/mine/test_b.py::C", "test_ops.py"),
        files=("test_ops.py",),
    )  # fmt: skip
    assert reproduce.places_of(test, asked, {}) == ("--tests", "/t/tests/mine/test_a.py")
    assert reproduce.places_of(replace(test, file="other/test_c"), asked, {}) == (
        "--tests", "/t/tests/mine/test_a.py", "--tests", "/t/tests/mine/test_b.py",
    )  # fmt: skip
    assert reproduce.places_of(replace(test, suite="ops"), asked, {}) == ()
    flex, extended = replace(test, suite="flex_attention"), Selection(suites=("all",), extend_flex_devices=True)
    assert reproduce.places_of(flex, asked, {}) == ()
    assert reproduce.places_of(flex, extended, {}) == ("--extend-flex-devices",)
    said = reproduce.command(test.key, "sim", "sim-1.0", reproduce.places_of(test, asked, {}))
    assert shlex.split(said)[-2:] == ["--tests", "/t/tests/mine/test_a.py"]


def test_a_test_of_pytorchs_tree_is_reproduced_with_that_tree() -> None:
    test = TestId(suite="upstream", file="test_ops", cls="TestCommon", name="test_x")
    asked = Selection(suites=("upstream",), tests=("/t/test_a.py",), files=("test_ops.py::TestCommon",))
    tree = {"upstream.path": "/src/py torch"}
    assert reproduce.places_of(test, asked, tree) == ("--upstream", "/src/py torch")
    assert reproduce.places_of(replace(test, file="test_a"), asked, tree) == ("--tests", "/t/test_a.py")
