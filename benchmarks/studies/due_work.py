"""Note what is to be done a moment later, by ``checking`` and by ``energies``."""

from collections.abc import Iterable
from datetime import datetime

from benchmarks.models import Cell, DueCheck, DueEnergy, Meter, Run, RunWindow


def note_due_checks(cells: Iterable[Cell]) -> None:
    """Note, in the transaction that changed these cells, that they are to be checked.

    So are the lab's other studies that share a case: some rules look across.
    """
    touched = list(cells)
    near = Cell.objects.filter(
        lab__in={cell.lab_id for cell in touched},
        case__in={cell.case_id for cell in touched},
    )
    shared = near.order_by().values_list("study_id", flat=True).distinct()
    studies = {cell.study_id for cell in touched} | set(shared)
    DueCheck.objects.bulk_create(DueCheck(study_id=pk) for pk in sorted(studies))


def note_due_energy(
    hosts: Iterable[int], begin: datetime | None = None, end: datetime | None = None
) -> None:
    """Note that the energy of these hosts' runs within a span is to be integrated."""
    DueEnergy.objects.bulk_create(
        DueEnergy(host_id=host, begin_at=begin, end_at=end) for host in sorted(hosts)
    )


def note_runs_energy(runs: Iterable[Run]) -> None:
    """Note that runs came or changed, where their machine has a power meter.

    Their windows are worked out anew with their energy.
    """
    ids = [run.pk for run in runs]
    RunWindow.objects.filter(run__in=ids).delete()
    metered = Meter.objects.filter(host__systems__runs__in=ids)
    note_due_energy(set(metered.values_list("host", flat=True)))
