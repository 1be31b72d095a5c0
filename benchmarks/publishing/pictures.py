"""Charts that are asked for as files: drawn by a task, kept for a while."""

import hashlib
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from benchmarks.models import Picture
from benchmarks.publishing.jobs import begin, is_lost

KEPT: Final = 200
UNTAKEN: Final = timedelta(seconds=30)
"""How long a hint may be under way: whoever waits looks for one that got lost."""
Stage = Picture.Stage


@transaction.atomic
def request_picture(
    *, drawn: Mapping[str, Any], form: str, site: str
) -> tuple[Picture, bool]:
    """Return the picture of these numbers, and whether somebody has to draw it.

    One that failed, or whose maker fell silent, is drawn anew.
    """
    text = json.dumps([settings.VERSION, form, drawn], sort_keys=True)
    stamp = hashlib.sha256(text.encode()).hexdigest()
    picture, is_new = Picture.objects.get_or_create(
        stamp=stamp, defaults={"form": form, "drawn": drawn, "site": site}
    )
    is_to_draw = is_new or picture.stage == Stage.FAILED or is_lost(picture, UNTAKEN)
    now = timezone.now()
    if is_to_draw:
        picture.stage, picture.seen_at = Stage.WAITING, now
        # Forget those that nobody has asked for the longest.
        others = Picture.objects.exclude(pk=picture.pk).order_by("-requested_at", "-pk")
        old = others.values_list("pk", flat=True)[KEPT - 1 :]
        Picture.objects.filter(pk__in=list(old)).delete()
    picture.requested_at = now
    picture.save(update_fields=["stage", "requested_at", "seen_at"])
    return picture, is_to_draw


def take_picture(picture_id: int) -> Picture | None:
    """Take a waiting picture in hand; None where it is taken, drawn or forgotten."""
    return begin(Picture, picture_id, related=())


def note_picture(*, picture: Picture, stage: str, content: bytes = b"") -> None:
    """Note how far a picture is; with its last stage comes the file."""
    picture.stage, picture.content, picture.seen_at = stage, content, timezone.now()
    picture.save(update_fields=["stage", "content", "seen_at"])
