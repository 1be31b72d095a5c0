"""Searches without results, counted by their words, without the person who searched."""

from typing import Final

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from benchmarks.labs.quotas import admits_search_miss
from benchmarks.models import Lab, SearchMiss
from benchmarks.replica import from_primary
from benchmarks.viewer import Viewer

MAX_ROWS: Final = 1_000
MAX_CHARACTERS: Final = 100


def count_search_miss(viewer: Viewer, text: str, network: str) -> None:
    """Count words without a result, except too many from one network.

    In an installation of several labs, words of members may be private to their lab.
    Words with an "@" may be addresses of people.
    """
    words = " ".join(text.casefold().split())[:MAX_CHARACTERS]
    is_private = bool(viewer.lab_ids) and Lab.objects.count() > 1
    if not words or "@" in words or is_private or not admits_search_miss(network):
        return
    with from_primary(), transaction.atomic():
        SearchMiss.objects.bulk_create(
            [SearchMiss(words=words, count=0)], ignore_conflicts=True
        )
        SearchMiss.objects.filter(words=words).update(
            count=F("count") + 1, last_at=timezone.now()
        )
        # Keep the most frequent and the newest.
        kept = SearchMiss.objects.exclude(words=words).order_by("-count", "-last_at")
        surplus = kept.values("pk")[MAX_ROWS - 1 :]
        SearchMiss.objects.filter(
            pk__in=list(surplus.values_list("pk", flat=True))
        ).delete()
