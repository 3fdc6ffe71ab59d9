"""Error codes of the Neuron compiler (NCC_…) and runtime (NRT status), and what each group means.

Source: the public error-code pages of the AWS Neuron SDK (compiler error codes) and nrt_status.h's documented values.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class CompilerGroup(StrEnum):
    """Why a compiler refused: four answers that call for four different people."""

    UNSUPPORTED = "unsupported"
    CAPACITY = "capacity"
    CONFIGURATION = "configuration"
    SUSPECTED_BUG = "suspected compiler bug"


_UNSUPPORTED = (
    "EUOC002 EVRF001 EVRF004 EVRF005 EVRF006 EVRF010 EVRF011 EVRF013 EVRF015 EVRF016 EVRF017 EVRF018 EVRF019 EVRF022 "
    "EVRF035 ESPP004 ESPP047 ESFH002 EMOD025 EHCA005 EVRF036 EVRF037 EVRF038 EVRF039 EVRF040 EVRF041 EVRF042 EVRF043 "
    "EVRF044 EVRF045 EVRF046 EVRF047 EVRF048 EVRF049 EVRF050 EVRF051 EVRF052 EVRF053 EVRF054 EVRF055 EVRF057 EVRF058 "
    "EVRF060 EVRF061 EVRF062 EVRF063"
)
_CAPACITY = "EOOM001 EOOM002 EVRF007 EVRF009 EXSP001 EBVF030 EXTP004 EBIR023"
_CONFIGURATION = "EARG001 EVRF059 EVRF065"

_GROUPS: Final[Mapping[str, CompilerGroup]] = {
    **dict.fromkeys(_UNSUPPORTED.split(), CompilerGroup.UNSUPPORTED),
    **dict.fromkeys(_CAPACITY.split(), CompilerGroup.CAPACITY),
    **dict.fromkeys(_CONFIGURATION.split(), CompilerGroup.CONFIGURATION),
}

INFRA_STATUS: Final = frozenset({6, 9, 101, 1005, 1200, 1201, 1202, 1203, 1204, 1205, 1206})
"""NRT statuses that tell of the machine, not of the test: hardware errors, a busy core, a poisoned execution unit."""

_NCC = re.compile(r"\bNCC_(E[A-Z]{3}\d{3})\b")
_NRT = re.compile(r"\b(?:NRT_STATUS|status_code|NRT status|nrt_status)\s*[=:]?\s*(\d+)")
_BUSY = re.compile(r"not available.*cores busy|ret=-16")


def compiler_code(text: str) -> str:
    """The first compiler code in a text, as `NCC_EVRF001`; empty when there is none."""
    found = _NCC.search(text)
    return f"NCC_{found[1]}" if found else ""


def compiler_group(code: str) -> CompilerGroup:
    """What a compiler code means; a code that is not documented is a suspected compiler bug."""
    return _GROUPS.get(code.removeprefix("NCC_"), CompilerGroup.SUSPECTED_BUG)


def runtime_status(text: str) -> int | None:
    """The runtime status in a text; None when there is none."""
    found = _NRT.search(text)
    return int(found[1]) if found else None


def is_infra(text: str) -> bool:
    """Whether a message tells of a busy core or a broken device and not of the test."""
    return runtime_status(text) in INFRA_STATUS or bool(_BUSY.search(text))
