"""A definition changes with the test, with nothing else, and is the same in every process."""

import os
from pathlib import Path

import pytest

from conformance.suites import collected
from tests.plugin.sessions import RELEASE

FILE = """
import unittest
import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops, onlyCUDA
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase


class TestSetUp(TestCase):
    def setUp(self):
        super().setUp()
        self.size = 2

    def test_sized(self, device):
        pass


class TestBodies(TestCase):
    def test_kept(self, device):
        self.assertTrue(True)

    def test_edited(self, device):
        self.assertEqual(1 + 1, 2)

    @unittest.skipIf(False, "never")
    def test_decorated(self, device):
        pass

    @ops(op_db[:2], allowed_dtypes=(torch.float32, torch.int8))
    def test_made(self, device, dtype, op):
        pass


instantiate_device_type_tests(TestSetUp, globals())
instantiate_device_type_tests(TestBodies, globals())
"""
EDITS = (("self.size = 2", "self.size = 3"), ("1 + 1, 2", "1 + 1, 3"), ('False, "never"', 'True, "always"'))


def definitions(folder: Path, text: str) -> dict[str, str]:
    file = folder / "test" / "test_defined.py"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    found = collected.collect([str(file)], "sim", RELEASE, None)
    return {each.key.partition("test_defined::")[2]: each.definition for each in found}


@pytest.mark.slow
def test_only_what_was_edited_is_another_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    before = definitions(tmp_path / "one", FILE)
    text = f"# Moved by a comment and another folder.\n{FILE}"
    for old, new in EDITS:
        assert old in text
        text = text.replace(old, new)
    monkeypatch.setenv("PYTHONHASHSEED", "2")
    after = definitions(tmp_path / "two", text)
    assert os.environ["PYTHONHASHSEED"] == "2"
    assert before.keys() == after.keys()
    assert {each for each in before if before[each] != after[each]} == {
        "TestSetUp::test_sized", "TestBodies::test_edited", "TestBodies::test_decorated",
    }  # fmt: skip
    made = {each: found for each, found in before.items() if "test_made" in each}
    assert len(made) == len(set(made.values())) == 4, "an op and a dtype are part of what a test is"
