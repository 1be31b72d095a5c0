"""Where the numbers of a file come from, as its notes say it."""

from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from benchmarks.models import Study
from dashboard import wording
from dashboard.kit.judged_tables import JudgedTable
from dashboard.kit.selections import SHOWN, SPEED


@dataclass(frozen=True)
class Source:
    """Where the numbers come from.

    ``show`` is what cells show, ``against`` says so and what they are compared with.
    """

    title: str
    slug: str
    address: str
    against: str
    made_on: str
    show: str = SPEED
    equivalence_margin_percent: float = 2.0
    tested: int = 0
    """Of how many cells together the verdicts were corrected for."""


def source_of(
    request: HttpRequest, study: Study, judged: JudgedTable, page: str = "compare"
) -> Source:
    """Return where a comparison's numbers come from: that page, with its query."""
    address = reverse(f"dashboard:{page}", args=[study.lab.slug, study.slug])
    query = request.GET.urlencode()
    against = wording.against_text(judged.reference, judged.names)
    if judged.show != SPEED:
        against = f"{str(SHOWN[judged.show]).lower()}, {against}"
    return Source(
        title=study.title,
        slug=study.slug,
        address=request.build_absolute_uri(f"{address}?{query}" if query else address),
        against=against,
        made_on=timezone.now().date().isoformat(),
        show=judged.show,
        equivalence_margin_percent=study.equivalence_margin_percent,
        tested=judged.tested,
    )
