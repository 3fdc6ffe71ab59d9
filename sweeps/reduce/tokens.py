"""Special tokens in a small vocabulary: distinct ids stay distinct, small ones stay what they are."""

from dataclasses import dataclass, field


@dataclass(kw_only=True, slots=True)
class Tokens:
    """Ids for a vocabulary of `size`; those that do not fit are moved to its end, the first to the last place."""

    size: int
    known: dict[int, int] = field(default_factory=dict)

    def moved(self, token: int) -> int:
        """The id of a special token in the small vocabulary."""
        if token not in self.known:
            self.known[token] = token if token < self.size - self.size // 8 else self._free()
        return self.known[token]

    def _free(self) -> int:
        taken = set(self.known.values())
        return next(each for each in range(self.size - 1, -1, -1) if each not in taken or not each)
