"""A study as a publication: what its citation says."""

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from benchmarks.models import Study
from dashboard.exports.citation import Citation


def citation_of(request: HttpRequest, study: Study) -> Citation:
    """Return a study as a publication, read today."""
    return citation_at(site_of(request), study)


def site_of(request: HttpRequest) -> str:
    """Return the address of this site, as its reader knows it."""
    return request.build_absolute_uri("/").rstrip("/")


def citation_at(site: str, study: Study) -> Citation:
    """Return a study of a site as a publication, read today."""
    page = reverse("dashboard:study", args=[study.lab.slug, study.slug])
    name = f"{study.lab.slug}/{study.slug}"
    return Citation(
        key=study.slug,
        title=study.title,
        author=study.author,
        institution=study.institution,
        published=study.published,
        language=study.language,
        address=f"{site}{page}",
        note=f"Study {name} in Virtlab {settings.VERSION}",
        read_on=timezone.now().date(),
    )
