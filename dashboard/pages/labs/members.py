"""The people of a lab: who belongs to it, invitations, roles."""

from collections.abc import Callable
from functools import wraps

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from benchmarks.errors import BenchmarksError
from benchmarks.labs.pages import lab_members, open_invitations
from benchmarks.labs.people import (
    change_role,
    invite_person,
    remove_member,
    withdraw_invitation,
)
from benchmarks.models import Membership
from dashboard import wording
from dashboard.kit.viewers import signed_in, signed_in_person
from dashboard.pages.labs.forms import InvitationForm
from dashboard.pages.labs.places import (
    LabPlace,
    kept_lab_or_404,
    own_lab_or_404,
)
from dashboard.wording.labs import role_name

Change = Callable[..., str]


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def keep_members(request: HttpRequest, lab: str) -> HttpResponse:
    """Show who belongs to a lab; make an invitation and show its link this once."""
    place = own_lab_or_404(request, lab)
    if request.method != "POST":
        return _page(request, place, InvitationForm(place.roles), 200)
    kept_lab_or_404(request, lab)
    form = InvitationForm(place.roles, request.POST)
    if not form.is_valid():
        return _page(request, place, form, 422)
    try:
        invitation, code = invite_person(
            lab=place.lab, by=signed_in_person(request), **form.cleaned_data
        )
    except BenchmarksError as error:
        form.add_error(None, wording.said(error.sentence))
        return _page(request, place, form, error.status)
    # Behind the #, so that the code reaches no server's log and no other site.
    link = f"{request.build_absolute_uri(reverse('dashboard:invitation'))}#{code}"
    context = {"invitation": invitation, "link": link}
    return _page(request, place, InvitationForm(place.roles), 201, **context)


def _page(
    request: HttpRequest,
    place: LabPlace,
    form: InvitationForm,
    status: int,
    **context: object,
) -> HttpResponse:
    context |= {
        "place": place,
        "form": form,
        "members": lab_members(place.lab),
        "invitations": open_invitations(place.lab, timezone.now()),
    }
    return render(request, "labs/members.html", context, status=status)


def _changes_members(change: Change) -> Callable[..., HttpResponse]:
    """Do a change, say what came of it, and go back to the members."""

    @require_POST
    @signed_in
    @wraps(change)
    def view(request: HttpRequest, lab: str, **which: int) -> HttpResponse:
        place = own_lab_or_404(request, lab)
        try:
            messages.success(request, change(request, place, **which))
        except BenchmarksError as error:
            messages.error(request, wording.said(error.sentence))
        still = Membership.objects.filter(lab=place.lab, user=signed_in_person(request))
        if not still.exists():
            return redirect("dashboard:overview")
        return redirect("dashboard:members", place.lab.slug)

    return view


@_changes_members
def give_role(request: HttpRequest, place: LabPlace, person_id: int) -> str:
    """Give a member another role."""
    member, role = _member(place, person_id), request.POST.get("role", "")
    if role not in Membership.Role.values:
        raise Http404("There is no such role.")
    by = signed_in_person(request)
    change_role(lab=place.lab, by=by, member=member, role=role)
    return _("%(name)s is %(role)s now.") % {"name": member, "role": role_name(role)}


@_changes_members
def remove(request: HttpRequest, place: LabPlace, person_id: int) -> str:
    """Remove a member, or leave."""
    member, by = _member(place, person_id), signed_in_person(request)
    remove_member(lab=place.lab, by=by, member=member)
    if member == by:
        return _("You have left %(lab)s.") % {"lab": place.lab}
    return _("%(name)s was removed from this lab.") % {"name": member}


@_changes_members
def withdraw(request: HttpRequest, place: LabPlace, invitation_id: int) -> str:
    """Make the link of an invitation useless."""
    invitation = get_object_or_404(place.lab.invitations, pk=invitation_id)
    withdraw_invitation(invitation=invitation, by=signed_in_person(request))
    return _("The invitation of %(name)s is withdrawn.") % {"name": invitation.name}


def _member(place: LabPlace, person_id: int) -> User:
    return get_object_or_404(User, pk=person_id, memberships__lab=place.lab)
