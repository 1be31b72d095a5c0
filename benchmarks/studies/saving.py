"""Create and change campaigns."""

from typing import Any

from django.db import transaction

from benchmarks.errors import CampaignExistsError, UnknownSystemError
from benchmarks.models import Campaign, Lab, System
from benchmarks.uploads.efficiencies import normalise_campaign


@transaction.atomic
def save_campaign(*, lab: Lab, slug: str, **fields: Any) -> tuple[Campaign, bool]:
    """Create a campaign; saying the same again changes nothing.

    Raises CampaignExistsError when the slug is taken by one that differs.
    """
    campaign, created = Campaign.objects.get_or_create(
        lab=lab, slug=slug, defaults=fields
    )
    differing = [
        name for name, value in fields.items() if getattr(campaign, name) != value
    ]
    if differing:
        raise CampaignExistsError(slug, differing)
    return campaign, created


@transaction.atomic
def update_campaign(*, campaign: Campaign, **changes: Any) -> Campaign:
    """Change a campaign and recompute the efficiencies that lean on the change."""
    if "reference_system" in changes:
        changes["reference_system"] = _system_of(campaign, changes["reference_system"])
    changed = [
        name for name, value in changes.items() if getattr(campaign, name) != value
    ]
    for name in changed:
        setattr(campaign, name, changes[name])
    campaign.save(update_fields=changed)
    if set(changed) & {"reference_system", "band_percent", "baseline_max_age_days"}:
        normalise_campaign(campaign)
    return campaign


def _system_of(campaign: Campaign, system_id: int | None) -> System | None:
    if system_id is None:
        return None
    system = System.objects.filter(lab_id=campaign.lab_id, pk=system_id).first()
    if system is None:
        raise UnknownSystemError(system_id)
    return system
