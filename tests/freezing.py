"""Campaigns frozen as the product does, with files of a few letters."""

from typing import Any

from benchmarks.models import Campaign, Freezing, Snapshot
from benchmarks.publishing.jobs import ask_freezing, take_freezing
from benchmarks.publishing.versions import Write, freeze_campaign


def asked(campaign: Campaign, person: Any, **changes: str) -> Freezing:
    """Ask for a campaign to be frozen."""
    given = {"site": "http://testserver", "licence": "free", "licence_note": ""}
    return ask_freezing(campaign=campaign, person=person, **{**given, **changes})[0]


def two_forms(snapshot: Snapshot) -> dict[str, bytes]:
    """Return files of a few letters."""
    return {"csv": b"a,b\r\n", "bib": b"@misc{x}"}


def frozen(
    campaign: Campaign, person: Any, write: Write = two_forms, **changes: str
) -> Snapshot:
    """Freeze a campaign at once."""
    taken = take_freezing(asked(campaign, person, **changes).pk)
    assert taken is not None
    return freeze_campaign(freezing=taken, write=write)
