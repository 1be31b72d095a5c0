"""Note which campaigns are to be checked; ``checking`` does it a moment later."""

from collections.abc import Iterable

from benchmarks.models import Cell, DueCheck


def note_due_checks(cells: Iterable[Cell]) -> None:
    """Note, in the transaction that changed these cells, that they are to be checked.

    Campaigns that were only compared with them follow when they change themselves.
    """
    campaigns = sorted({cell.campaign_id for cell in cells})
    DueCheck.objects.bulk_create(DueCheck(campaign_id=pk) for pk in campaigns)
