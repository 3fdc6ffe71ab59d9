"""A laboratory a test."""

from pathlib import Path

import pytest

from tests.faults.harness import Lab


@pytest.fixture
def lab(tmp_path: Path, database_url: str) -> Lab:
    return Lab(tmp_path, database_url)
