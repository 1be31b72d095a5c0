"""The power meters that somebody may know of, and how much they measured."""

from django.db.models import Count, Max, Min, Q, QuerySet

from benchmarks.models import Meter
from benchmarks.viewer import Viewer


def visible_meters(viewer: Viewer) -> QuerySet[Meter]:
    """Return a lab's own meters: a log tells of all that its machine did."""
    untimed = Count("chunks", filter=Q(chunks__first_at=None))
    return (
        Meter.objects.filter(lab_id__in=viewer.lab_ids)
        .select_related("host")
        .annotate(
            piece_count=Count("chunks"),
            untimed_count=untimed,
            first_at=Min("chunks__first_at"),
            last_at=Max("chunks__last_at"),
        )
    )
