"""Note which campaigns are to be checked; ``checking`` does it a moment later."""

from collections.abc import Iterable

from benchmarks.models import Cell, DueCheck


def note_due_checks(cells: Iterable[Cell]) -> None:
    """Note, in the transaction that changed these cells, that they are to be checked.

    So are the lab's other campaigns that share a case: some rules look across.
    """
    touched = list(cells)
    near = Cell.objects.filter(
        lab__in={cell.lab_id for cell in touched},
        case__in={cell.case_id for cell in touched},
    )
    shared = near.order_by().values_list("campaign_id", flat=True).distinct()
    campaigns = {cell.campaign_id for cell in touched} | set(shared)
    DueCheck.objects.bulk_create(DueCheck(campaign_id=pk) for pk in sorted(campaigns))
