"""What the meters of the machines say of a campaign's runs, and why not more."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.models import Campaign, Meter, Run, RunEnergy


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
    def sentence(self) -> str:
        """What the reader must know of this figure, in numbers; may be empty."""
        return " ".join(filter(None, [*_coverage(self.energy), *_doubts(self)]))


def run_energies(campaign: Campaign) -> tuple[MeteredWork, ...]:
    """Return the energy of a campaign's work by each meter, in one query."""
    rows = (
        RunEnergy.objects.filter(run__campaign=campaign, run__status=Run.Status.PARSED)
        .select_related("run__system__host", "run__corun", "meter__host")
        .order_by("lead", "meter__name", "meter", "run")
    )
    groups: dict[tuple[int, int], list[RunEnergy]] = defaultdict(list)
    for row in rows:
        groups[row.lead_id, row.meter_id].append(row)
    return tuple(_work(members) for members in groups.values())


def _work(rows: Sequence[RunEnergy]) -> MeteredWork:
    return MeteredWork(tuple(row.run for row in rows), rows[0])


def _coverage(energy: RunEnergy) -> list[str]:
    if energy.reason:
        return [f"{energy.reason[0].upper()}{energy.reason[1:]}."]
    missing_s = energy.duration_s - energy.covered_s
    if missing_s <= 1e-6 * energy.duration_s:
        return []
    share = 100 * missing_s / energy.duration_s
    said = (
        f"{missing_s:.3g} s of the {energy.duration_s:.6g} s ({share:.2g} %) were not "
        "measured"
    )
    return [f"{said}." if energy.is_covered else f"{said}: too much for an energy."]


def _doubts(work: MeteredWork) -> list[str]:
    energy, said = work.energy, []
    if energy.is_shared:
        said.append(
            f"{energy.together} runs overlapped on the machine: this is the energy of "
            "all together."
        )
    if not energy.is_external:
        said.append(
            "When it ran was told by its own clock, which nobody set against the "
            "meter's."
        )
    return said
