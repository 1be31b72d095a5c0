from dataclasses import dataclass

from django.http import Http404, HttpRequest

from benchmarks.labs.lab_queries import find_lab
from benchmarks.labs.members import ROLE_RANKS
from benchmarks.models import Lab, Membership
from dashboard.kit.viewers import viewer_of


@dataclass(frozen=True)
class LabAccess:
    """A lab and the reader's role; "" if the reader is not a member."""

    lab: Lab
    role: str

    @property
    def is_editor(self) -> bool:
        return self.role in Membership.EDITORS

    @property
    def assignable_roles(self) -> tuple[str, ...]:
        """Roles that the reader may assign or revoke: none above the reader's own."""
        if not self.is_editor:
            return ()
        return tuple(
            role for role in ROLE_RANKS if ROLE_RANKS[role] <= ROLE_RANKS[self.role]
        )


def lab_or_404(request: HttpRequest, slug: str) -> LabAccess:
    lab = find_lab(viewer_of(request), slug)
    memberships = Membership.objects.filter(lab=lab, user=request.user.pk)
    return LabAccess(lab, memberships.values_list("role", flat=True).first() or "")


def member_lab_or_404(request: HttpRequest, slug: str) -> LabAccess:
    access = lab_or_404(request, slug)
    if not access.role:
        raise Http404("Lab not found, or you are not a member.")
    return access


def editable_lab_or_404(request: HttpRequest, slug: str) -> LabAccess:
    access = lab_or_404(request, slug)
    if not access.is_editor:
        raise Http404("Lab not found, or you do not have permission to change it.")
    return access
