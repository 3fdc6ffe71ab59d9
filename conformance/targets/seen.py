"""What the trackers told of an attempt, over several readings, and what follows from it for the attempt's record."""

from dataclasses import dataclass, field

from conformance.outcomes import RanOn, Reached
from conformance.targets import Device
from conformance.targets.tracked import qualified


@dataclass(kw_only=True, slots=True)
class Seen:
    """Names of the ops that ran on the device, and of those that ran on the CPU instead, as the trackers give them."""

    executed: set[str] = field(default_factory=set)
    fallback: set[str] = field(default_factory=set)
    _names_ops: bool = field(default=False, init=False)

    def read(self, device: Device) -> None:
        """Add what the trackers tell since they were cleared."""
        reached = device.reached()
        if reached is None:
            self.executed |= device.executed_ops()
            self.fallback |= device.fallback_ops()
            return
        self._names_ops = True
        self.executed |= reached.executed
        self.fallback |= reached.fallback

    @property
    def reached(self) -> Reached | None:
        """The ops that were taken; None where the trackers do not tell."""
        if not self._names_ops:
            return None
        return Reached(executed=frozenset(self.executed), fallback=frozenset(self.fallback))

    @property
    def fallback_ops(self) -> tuple[str, ...]:
        """The ops that ran on the CPU, sorted, each without its overload."""
        return tuple(sorted(set(map(qualified, self.fallback))))

    @property
    def ran_on(self) -> RanOn:
        """Where an attempt that was not right ran, as far as was seen; that of a right one is a matter of proof."""
        if self.fallback:
            return RanOn.MIXED if self.executed else RanOn.CPU
        return RanOn.DEVICE if self.executed else RanOn.UNKNOWN
