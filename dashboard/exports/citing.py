"""A campaign as a publication: what its citation says."""

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from benchmarks.models import Campaign
from dashboard.exports.citation import Citation


def citation_of(request: HttpRequest, campaign: Campaign) -> Citation:
    """Return a campaign as a publication, read today."""
    return citation_at(site_of(request), campaign)


def site_of(request: HttpRequest) -> str:
    """Return the address of this site, as its reader knows it."""
    return request.build_absolute_uri("/").rstrip("/")


def citation_at(site: str, campaign: Campaign) -> Citation:
    """Return a campaign of a site as a publication, read today."""
    page = reverse("dashboard:campaign", args=[campaign.lab.slug, campaign.slug])
    name = f"{campaign.lab.slug}/{campaign.slug}"
    return Citation(
        key=campaign.slug,
        title=campaign.title,
        author=campaign.author,
        institution=campaign.institution,
        published=campaign.published,
        language=campaign.language,
        address=f"{site}{page}",
        note=f"Campaign {name} in Virtlab {settings.VERSION}",
        read_on=timezone.now().date(),
    )
