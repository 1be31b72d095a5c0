"""Energy where only the meter's totals are known: joules and seconds, but no samples.

A meter that is started and stopped by hand runs longer than the work, and its total
grows with the wait: two cases whose meters waited differently cannot be compared by
their totals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.analysis.energy import PerWork, per_work
from benchmarks.sentences import Sentence, template

LONGER: Final = template(
    "The meter ran {off:.3g} s ({share:.2g} %) longer than the work: {energy:.5g} J "
    "at its mean power, not {printed:.5g} J."
)
SHORTER: Final = template(
    "The meter ran {off:.3g} s ({share:.2g} %) shorter than the work: {energy:.5g} J "
    "at its mean power, not {printed:.5g} J."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterTotal:
    """A meter's energy and time, and the time of the work it was to measure.

    ``work_s`` is None if nobody wrote it down; ``operations`` too.
    """

    label: str
    meter_j: float
    meter_s: float
    work_s: float | None = None
    operations: float | None = None

    def __post_init__(self) -> None:
        known = (self.meter_j, self.meter_s, self.work_s, self.operations)
        if not all(each is None or 0 < each < math.inf for each in known):
            raise ValueError(f"{self.label}: energy and times must be above 0")

    @property
    def mean_w(self) -> float:
        """Mean power over the meter's time."""
        return self.meter_j / self.meter_s

    @property
    def overrun_s(self) -> float | None:
        """How much longer the meter ran than the work; negative if it ran shorter."""
        return None if self.work_s is None else self.meter_s - self.work_s


@dataclass(frozen=True, slots=True)
class EnergyRow:
    """One case of a table: the printed total and the energy of the work.

    ``energy_j`` is the meter's mean power x the work's time. Where the meter ran on
    while the machine idled, this is too little and the printed total too much: the
    truth lies between the two. ``printed_ratio`` and ``energy_ratio`` are set against
    the table's reference.
    """

    total: MeterTotal
    energy_j: float | None
    less_wait_j: float | None
    per_work: PerWork | None
    printed_ratio: float
    energy_ratio: float | None

    @property
    def is_reversed(self) -> bool:
        """Above the reference by the printed total, below it by the work, or so."""
        if self.energy_ratio is None:
            return False
        return (self.printed_ratio - 1) * (self.energy_ratio - 1) < 0

    @property
    def sentence(self) -> Sentence:
        total = self.total
        if total.work_s is None or self.energy_j is None:
            return Sentence(
                "The meter ran {ran:.6g} s, but how long the work took is not stated: "
                "its energy is not known.",
                ran=total.meter_s,
            )
        overrun_s = total.meter_s - total.work_s
        return Sentence(
            LONGER if overrun_s >= 0 else SHORTER,
            off=abs(overrun_s),
            share=100 * abs(overrun_s) / total.work_s,
            energy=self.energy_j,
            printed=total.meter_j,
        )


def energy_table(
    totals: Sequence[MeterTotal],
    *,
    reference: str | None = None,
    waiting_w: float | None = None,
) -> tuple[EnergyRow, ...]:
    """Each case's printed total beside the energy of its work.

    ``reference`` is the label of the case that ratios are set against (the first by
    default). With ``waiting_w``, the power of the machine before and after the work,
    ``less_wait_j`` is the total less the wait: the best figure of the three. ValueError
    where no case has the label ``reference``.
    """
    if not totals:
        return ()
    bases = [each for each in totals if reference in (None, each.label)]
    if not bases:
        raise ValueError(f'no case of this table is called "{reference}"')
    return tuple(_row(each, bases[0], waiting_w) for each in totals)


def _row(total: MeterTotal, base: MeterTotal, waiting_w: float | None) -> EnergyRow:
    printed_ratio = total.meter_j / base.meter_j
    if total.work_s is None or total.overrun_s is None:
        return EnergyRow(total, None, None, None, printed_ratio, None)
    energy_j = total.mean_w * total.work_s
    is_waiting_known = waiting_w is not None and total.overrun_s >= 0
    return EnergyRow(
        total=total,
        energy_j=energy_j,
        less_wait_j=(
            total.meter_j - (waiting_w or 0.0) * total.overrun_s
            if is_waiting_known
            else None
        ),
        per_work=per_work(energy_j, total.work_s, total.operations),
        printed_ratio=printed_ratio,
        energy_ratio=energy_j / (base.mean_w * base.work_s) if base.work_s else None,
    )
