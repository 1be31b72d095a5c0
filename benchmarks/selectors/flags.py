"""Flags as lists and pages show them."""

from typing import Any

from django.db.models import QuerySet

from benchmarks.errors import NotFoundError
from benchmarks.models import Campaign, Flag
from benchmarks.sentences import Sentence
from benchmarks.viewer import Viewer


def visible_flags(viewer: Viewer, **filters: Any) -> QuerySet[Flag]:
    """Return the flags that stand and may be seen, with all that a list shows."""
    flags = Flag.objects.visible_to(viewer).standing().filter(**filters)
    related = flags.select_related("campaign__lab")
    return related.prefetch_related("decisions").order_by("pk")


def find_flag(viewer: Viewer, flag_id: int) -> Flag:
    """Return one flag, standing or gone, or raise NotFoundError."""
    flags = Flag.objects.visible_to(viewer).select_related("campaign__lab")
    flag = flags.prefetch_related("decisions").filter(pk=flag_id).first()
    if flag is None:
        raise NotFoundError(Sentence("flag"), flag_id)
    return flag


def withheld_cells(campaign: Campaign) -> frozenset[int]:
    """Return the cells of a campaign that get no verdict because of a flag."""
    links = Flag.cells.through._default_manager.filter(
        flag__in=campaign.flags.withholding()
    )
    return frozenset(links.values_list("cell_id", flat=True))
