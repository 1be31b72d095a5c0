"""The tables a study printed, put together again from the samples of its runs."""

from dataclasses import dataclass

from benchmarks.models import Case, Run, Sample, Study, System
from benchmarks.viewer import Viewer

MOST_VALUES = 5_000


@dataclass(frozen=True)
class PrintedValue:
    """A number where it was printed; ``value`` is in the unit of the case."""

    run: Run
    case: Case
    repetition: int
    value: float

    @property
    def system(self) -> System:
        """On what it was measured."""
        return self.run.system


@dataclass(frozen=True)
class PrintedTable:
    """A table of a document, with its numbers in the order of their uploads."""

    document: str
    table: str
    values: tuple[PrintedValue, ...]


def printed_tables(viewer: Viewer, study: Study) -> tuple[PrintedTable, ...]:
    """Return a study's numbers by document and table; live runs have neither."""
    runs = (
        Run.objects.visible_to(viewer)
        .filter(study=study, status=Run.Status.PARSED)
        .exclude(document="")
    )
    samples = Sample.objects.filter(lab=study.lab_id, run__in=runs)
    printed = samples.select_related("run__system__host", "case")
    by_place: dict[tuple[str, str], list[PrintedValue]] = {}
    for sample in printed.order_by("run", "sequence")[:MOST_VALUES]:
        run = sample.run
        value = PrintedValue(run, sample.case, sample.repetition, sample.value)
        by_place.setdefault((run.document, run.table), []).append(value)
    return tuple(
        PrintedTable(*place, tuple(values)) for place, values in by_place.items()
    )
