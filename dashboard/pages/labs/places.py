"""The lab of a page, and what its reader may do there."""

from dataclasses import dataclass

from django.http import Http404, HttpRequest

from benchmarks.labs.pages import find_lab
from benchmarks.labs.people import RANKS
from benchmarks.models import Lab, Membership
from dashboard.kit.viewers import viewer_of


@dataclass(frozen=True)
class LabPlace:
    """A lab and the reader's role in it; "" for everybody who is not a member."""

    lab: Lab
    role: str

    @property
    def keeps(self) -> bool:
        return self.role in Membership.KEEPERS

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that this reader may give and take: up to their own."""
        if not self.keeps:
            return ()
        return tuple(role for role in RANKS if RANKS[role] <= RANKS[self.role])


def lab_or_404(request: HttpRequest, slug: str) -> LabPlace:
    """Return a lab that the reader may know of, and their role in it."""
    lab = find_lab(viewer_of(request), slug)
    mine = Membership.objects.filter(lab=lab, user=request.user.pk)
    return LabPlace(lab, mine.values_list("role", flat=True).first() or "")


def own_lab_or_404(request: HttpRequest, slug: str) -> LabPlace:
    """Return a lab that the reader belongs to."""
    place = lab_or_404(request, slug)
    if not place.role:
        raise Http404("There is no such lab, or you do not belong to it.")
    return place


def kept_lab_or_404(request: HttpRequest, slug: str) -> LabPlace:
    """Return a lab that the reader may change."""
    place = lab_or_404(request, slug)
    if not place.keeps:
        raise Http404("There is no such lab, or it is not yours to change.")
    return place
