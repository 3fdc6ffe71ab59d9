"""Values of configurations in a few words."""

import itertools
import json
from typing import Any

from sweeps.floats import decoded


def brief(value: Any) -> str:
    """A value as JSON, a list with repetitions as `28 × "full_attention"`. It is foreign text."""
    found = decoded(value)
    if isinstance(found, str):
        return found
    if isinstance(found, list) and len(found) > 2:
        parts = [(len(list(group)), each) for each, group in itertools.groupby(map(_json, found))]
        if len(parts) < len(found):
            return ", ".join(each if number == 1 else f"{number} × {each}" for number, each in parts)
    return _json(found)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
