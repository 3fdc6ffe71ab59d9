"""What is switched off while the suite runs, and back on afterwards."""

import traceback

import pytest
import torch

from conformance.suites.ops.quiet import quiet


def test_seeding_formats_no_stack_for_an_accelerator_that_is_not_there(monkeypatch):
    def refuse(*_given):
        raise AssertionError("a stack is formatted")

    monkeypatch.setattr(traceback, "format_stack", refuse)
    with quiet():
        torch.manual_seed(5)
    with pytest.raises(AssertionError, match="a stack is formatted"):
        torch.manual_seed(5)
