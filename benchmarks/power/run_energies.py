"""What the meters of the machines say of a study's runs, and why not more."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.models import Meter, Run, RunEnergy, Study


class Remark(NamedTuple):
    """A sentence whose numbers stand apart, so that pages can translate it."""

    template: str
    words: Mapping[str, object]

    def __str__(self) -> str:
        return self.template % self.words


UNSEEN = "Of the %(all)s s of the work the meter measured nothing."
PARTLY = "%(missing)s s of the %(all)s s (%(share)s %%) were not measured."
TOO_LITTLE = (
    "%(missing)s s of the %(all)s s (%(share)s %%) were not measured: too much for an "
    "energy."
)
SHARED = "%(n)s runs overlapped on the machine: this is the energy of all together."
UNCHECKED = (
    "When it ran was told by its own clock, which nobody set against the meter's."
)


@dataclass(frozen=True)
class MeteredWork:
    """The energy of one run's work, or of the work of runs that ran together."""

    runs: tuple[Run, ...]
    energy: RunEnergy

    @property
    def meter(self) -> Meter:
        return self.energy.meter

    @property
    def lead(self) -> Run:
        """The run that stands for all of them."""
        return self.runs[0]

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What the reader must know of this figure, in numbers."""
        return (*_coverage(self.energy), *_doubts(self.energy))

    @property
    def sentence(self) -> str:
        """The same for who reads no page; may be empty."""
        return " ".join(map(str, self.remarks))


def run_energies(study: Study) -> tuple[MeteredWork, ...]:
    """Return the energy of a study's work by each meter, in one query."""
    rows = (
        RunEnergy.objects.filter(run__study=study, run__status=Run.Status.PARSED)
        .select_related("run__system__host", "run__corun", "meter__host")
        .order_by("lead", "meter__name", "meter", "run")
    )
    groups: dict[tuple[int, int], list[RunEnergy]] = defaultdict(list)
    for row in rows:
        groups[row.lead_id, row.meter_id].append(row)
    return tuple(_work(members) for members in groups.values())


def _work(rows: Sequence[RunEnergy]) -> MeteredWork:
    return MeteredWork(tuple(row.run for row in rows), rows[0])


def _coverage(energy: RunEnergy) -> Iterator[Remark]:
    missing_s = energy.duration_s - energy.covered_s
    words = {
        "missing": f"{missing_s:.3g}",
        "all": f"{energy.duration_s:.6g}",
        "share": f"{100 * missing_s / energy.duration_s:.2g}",
    }
    if energy.mean_w is None:
        yield Remark(UNSEEN, words)
    elif not energy.is_covered:
        yield Remark(TOO_LITTLE, words)
    elif missing_s > 1e-6 * energy.duration_s:
        yield Remark(PARTLY, words)


def _doubts(energy: RunEnergy) -> Iterator[Remark]:
    if energy.is_shared:
        yield Remark(SHARED, {"n": energy.together})
    if not energy.is_external:
        yield Remark(UNCHECKED, {})
