"""Configurations of models from the Hugging Face Hub: config.json alone, never code, never weights."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from conformance.errors import StoreError, UsageError
from sweeps.catalogue import LONGEST_ENTRY, Entry, Unreadable, parsed

_REFUSED: Final = frozenset({401, 403, 404, 451})
"""What the Hub answers of one model; anything else that is no answer is the network's or the Hub's trouble."""
_SECONDS: Final = 30.0


def ids_of(path: Path) -> Iterator[str]:
    """The ids in a text file, one a line; empty lines and those that start with # are left out."""
    try:
        with path.open(encoding="utf-8") as file:
            for line in file:
                if (found := line.strip()) and not found.startswith("#"):
                    yield found
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{str(path)!r} cannot be read as a list of ids: {error}") from error


def resolved(ids: Iterable[str]) -> Iterator[Entry | Unreadable]:
    """An entry for each id, with the Hub's configuration, task and downloads.

    Raises UsageError without huggingface_hub, StoreError when the Hub cannot be reached.
    """
    try:
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError
    except ImportError as error:
        raise UsageError(f"a list of ids needs huggingface_hub: install it ({error})") from error
    for each in ids:
        try:
            yield _entry(each)
        except HFValidationError as error:
            yield Unreadable(id=each, reason=_line(error))
        except Exception as error:
            # Of the network's errors each version of the library raises others, after the HTTP client that it uses.
            answer = error.response if isinstance(error, HfHubHTTPError) else None
            status = 0 if answer is None else answer.status_code
            if status not in _REFUSED:
                raise _unreachable(each, error) from error
            why = f"the Hub answers {status}: there is no such model, or it is not open to you"
            yield Unreadable(id=each, reason=why)


def _entry(model: str) -> Entry | Unreadable:
    from huggingface_hub import HfApi

    found = HfApi().model_info(model, timeout=_SECONDS)
    body = _config(model)
    if len(body) > LONGEST_ENTRY:
        return Unreadable(id=model, reason=f"its config.json has more than {LONGEST_ENTRY:,} bytes")
    try:
        config = parsed(body)
    except ValueError as error:
        return Unreadable(id=model, reason=f"its config.json cannot be read: {error}")
    if not isinstance(config, dict):
        return Unreadable(id=model, reason=f"its config.json is a JSON {type(config).__name__} and not an object")
    return Entry(
        id=model, config=config, task=found.pipeline_tag or "", downloads=found.downloads or 0, source="huggingface.co"
    )  # fmt: skip


def _config(model: str) -> bytes:
    """At most one byte more than an entry may have."""
    from huggingface_hub import hf_hub_url
    from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status  # type: ignore[attr-defined]

    url = hf_hub_url(model, "config.json")
    with get_session().stream(
        "GET", url, headers=build_hf_headers(), follow_redirects=True, timeout=_SECONDS
    ) as response:  # fmt: skip
        if response.is_error:
            response.read()
        hf_raise_for_status(response)
        body = b""
        for part in response.iter_bytes():
            body += part
            if len(body) > LONGEST_ENTRY:
                break
    return body[: LONGEST_ENTRY + 1]


def _unreachable(model: str, error: Exception) -> StoreError:
    return StoreError(f"the Hugging Face Hub cannot be asked for {model!r}: {_line(error)}; import a file instead")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
