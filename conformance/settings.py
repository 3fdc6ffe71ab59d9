"""Where things are kept, from the environment; every variable is listed here and in docs/settings.md."""

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

HOME = "CONFORMANCE_HOME"
CACHE = "CONFORMANCE_CACHE"
DATABASE = "DATABASE_URL"
RULES = "CONFORMANCE_RULES"


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """home: runs and the embedded database; cache: what can be built again; database_url: "" means embedded.

    rules: a file with rules for skips of one's own, None for none.
    """

    home: Path
    cache: Path
    database_url: str
    rules: Path | None = None

    @property
    def runs(self) -> Path:
        """Folder with one folder a run."""
        return self.home / "runs"


def load() -> Settings:
    """Read the settings from the environment, with the platform's usual folders as defaults."""
    home = os.environ.get(HOME) or platformdirs.user_data_dir("neuron-conformance")
    cache = os.environ.get(CACHE) or platformdirs.user_cache_dir("neuron-conformance")
    rules = Path(os.environ[RULES]) if os.environ.get(RULES) else None
    return Settings(home=Path(home), cache=Path(cache), database_url=os.environ.get(DATABASE, ""), rules=rules)
