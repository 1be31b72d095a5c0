"""What every source of power readings is."""

from typing import List, NamedTuple, Optional

from agents.errors import AgentError


class SourceError(AgentError):
    """There is no such meter here, or it may not be read."""


class MissedError(Exception):
    """There is no reading this time, and why; the next one may come."""


class CounterLostError(Exception):
    """A counter may have begun anew: what it counted meanwhile nobody knows."""


class Reading(NamedTuple):
    """A moment of our monotonic clock and a number for each channel."""

    moment_us: int
    values: List[float]


class Source:
    """A meter: ``open``, ``read`` again and again, ``close``.

    ``channels`` are known after ``open``; ``total`` are those that make up the power.
    ``measures`` is "power" in watts or "energy" in joules of a counter. ``every_s`` is
    0 where the meter itself says when.
    """

    kind = ""
    name = ""
    measures = "power"
    channels: List[str] = []
    total: List[str] = []
    gain_error: Optional[float] = None
    every_s = 1.0

    def open(self) -> None:
        """Find the meter; raise SourceError with what to do if that fails."""

    def read(self) -> Reading:
        """Return a reading; raise MissedError or CounterLostError."""
        raise NotImplementedError

    def close(self) -> None:
        """Let the meter go."""

    def notes(self) -> List[str]:
        """Say what went wrong since the last time this was asked."""
        return []
