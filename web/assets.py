"""Style sheet, script and icon: read once, served under an address that carries their digest."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response

_FOLDER: Final = Path(__file__).parent / "static"
_TYPES: Final[Mapping[str, str]] = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
FOR_EVER: Final = "public, max-age=31536000, immutable"
"""What a cache may do with an address whose content never changes: a year is as long as HTTP goes."""

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Asset:
    """A file with the address it is served under."""

    address: str
    body: bytes
    media_type: str


@cache
def assets() -> Mapping[str, Asset]:
    """Every static file by name."""
    return {path.name: _asset(path) for path in sorted(_FOLDER.iterdir()) if path.suffix in _TYPES}


def _asset(path: Path) -> Asset:
    body = path.read_bytes()
    digest = hashlib.blake2b(body, digest_size=8).hexdigest()
    return Asset(address=f"/static/{digest}/{path.name}", body=body, media_type=_TYPES[path.suffix])


@router.get("/static/{digest}/{name}")
async def static(digest: str, name: str) -> Response:
    """A static file; 404 for an address with another digest, which would be cached for ever."""
    found = assets().get(name)
    if found is None or found.address != f"/static/{digest}/{name}":
        raise HTTPException(404, "there is no such file")
    return Response(found.body, media_type=found.media_type, headers={"Cache-Control": FOR_EVER})
