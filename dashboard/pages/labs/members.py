"""The members of a lab, their roles, and invitations.

The code of an invitation follows the # of its link and is sent in a form, so that it is
in no log. The session then stores which invitation was proved, never the code.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from benchmarks.errors import BenchmarksError
from benchmarks.labs.pages import lab_members, open_invitations
from benchmarks.labs.people import (
    accept_invitation,
    change_role,
    find_invitation,
    invite_person,
    remove_member,
    withdraw_invitation,
)
from benchmarks.labs.sign_ins import demand_factors, people_with_factors
from benchmarks.models import Invitation, Membership
from benchmarks.together.letters import mail_invitation
from dashboard import wording
from dashboard.kit.forms import submit
from dashboard.kit.viewers import PROVED_INVITATION, signed_in_person
from dashboard.pages.labs.places import (
    LabPlace,
    kept_lab_or_404,
    own_lab_or_404,
)
from dashboard.wording.states import ROLES

Change = Callable[..., str]


class InvitationForm(forms.Form):
    """A new invitation; nobody offers a role above their own."""

    name = forms.CharField(
        label=gettext_lazy("Name or e-mail address"),
        max_length=200,
        help_text=gettext_lazy("Shown in this list."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    role = forms.ChoiceField(label=gettext_lazy("Role"))

    def __init__(self, roles: tuple[str, ...], *args: Any) -> None:
        super().__init__(*args)
        choices = [(role, ROLES[role]) for role in roles]
        self.fields["role"] = forms.ChoiceField(label=_("Role"), choices=choices)


class NewPersonForm(UserCreationForm):
    """A new account, with the labels of the sign-in page."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        name = self.fields["username"]
        name.label = _("Name")
        name.help_text = _("For signing in: letters, digits and @ . + - _")
        self.fields["password2"].label = _("Repeat password")
        self.fields["password2"].help_text = ""


class CodeForm(forms.Form):
    """The code of an invitation, or the whole link."""

    code = forms.CharField(
        label=gettext_lazy("Invitation code or link"),
        max_length=500,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def clean_code(self) -> str:
        """Return the part behind the # of a link, or all of a bare code."""
        return str(self.cleaned_data["code"]).rpartition("#")[2].strip()


@never_cache
def keep_members(request: HttpRequest, lab: str) -> HttpResponse:
    """Show who belongs to a lab; make an invitation and show its link once."""
    place = own_lab_or_404(request, lab)
    form, status, context = InvitationForm(place.roles), 200, dict[str, Any]()
    if request.method == "POST":
        kept_lab_or_404(request, lab)
        form = InvitationForm(place.roles, request.POST)
        person = signed_in_person(request)
        made, status = submit(form, invite_person, lab=place.lab, by=person)
        if made:
            invitation, code = made
            form, status = InvitationForm(place.roles), 201
            # Behind the #, so that the code reaches no server's log and no other site.
            link = request.build_absolute_uri(reverse("dashboard:invitation"))
            context = {
                "invitation": invitation,
                "link": f"{link}#{code}",
                "is_mailed": mail_invitation(invitation, code),
            }
    members = list(lab_members(place.lab))
    context |= {
        "place": place,
        "form": form,
        "members": members,
        "sends_mail": settings.EMAIL is not None,
        # Only maintainers and admins see who has a second factor.
        "with_factors": people_with_factors([it.user_id for it in members])
        if place.keeps
        else set(),
        "invitations": open_invitations(place.lab, timezone.now()),
    }
    return render(request, "labs/members.html", context, status=status)


def _changes_members(change: Change) -> Callable[..., HttpResponse]:
    """Do a change, say what came of it, and go back to the members."""

    @wraps(change)
    def view(request: HttpRequest, lab: str, **which: int) -> HttpResponse:
        place = own_lab_or_404(request, lab)
        try:
            messages.success(request, change(request, place, **which))
        except BenchmarksError as error:
            messages.error(request, wording.said(error.sentence))
        still = Membership.objects.filter(lab=place.lab, user=signed_in_person(request))
        # A person who has left may not see the members any more.
        if not still.exists():
            return redirect("dashboard:overview")
        return redirect("dashboard:members", place.lab.slug)

    return view


@_changes_members
def give_role(request: HttpRequest, place: LabPlace, person_id: int) -> str:
    member, role = _member(place, person_id), request.POST.get("role", "")
    if role not in Membership.Role.values:
        raise Http404("There is no such role.")
    by = signed_in_person(request)
    change_role(lab=place.lab, by=by, member=member, role=role)
    return _("%(name)s is %(role)s now.") % {"name": member, "role": ROLES[role]}


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
    invitation = get_object_or_404(place.lab.invitations, pk=invitation_id)
    withdraw_invitation(invitation=invitation, by=signed_in_person(request))
    return _("The invitation of %(name)s is withdrawn.") % {"name": invitation.name}


@_changes_members
def demand_second_factor(request: HttpRequest, place: LabPlace) -> str:
    """Let the lab demand a second factor of its members, or no longer."""
    demand = request.POST.get("demand") == "yes"
    demand_factors(lab=place.lab, by=signed_in_person(request), demand=demand)
    if demand:
        return _("Members sign in with a second factor from now on.")
    return _("A password alone signs members in again.")


def _member(place: LabPlace, person_id: int) -> User:
    return get_object_or_404(User, pk=person_id, memberships__lab=place.lab)


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def answer_invitation(request: HttpRequest) -> HttpResponse:
    """Ask for the code, then whether to join, then open the lab."""
    if request.method == "POST" and "code" in request.POST:
        return _prove(request)
    invitations = Invitation.objects.select_related("lab")
    invitation = invitations.filter(
        pk=request.session.get(PROVED_INVITATION, 0)
    ).first()
    if invitation is None or not invitation.is_open():
        return render(request, "labs/invitation.html", {"form": CodeForm()})
    if request.method == "POST":
        return _join(request, invitation)
    return _offer(request, invitation, NewPersonForm(), 200)


def _prove(request: HttpRequest) -> HttpResponse:
    form = CodeForm(request.POST)
    if form.is_valid():
        try:
            invitation = find_invitation(form.cleaned_data["code"])
        except BenchmarksError as error:
            form.add_error("code", wording.said(error.sentence))
        else:
            request.session[PROVED_INVITATION] = invitation.pk
            return redirect("dashboard:invitation")
    return render(request, "labs/invitation.html", {"form": form}, status=422)


def _join(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    form: Any = NewPersonForm(request.POST)
    is_new = not request.user.is_authenticated
    if is_new and not form.is_valid():
        return _offer(request, invitation, form, 422)
    try:
        # A link that was withdrawn meanwhile leaves no account behind.
        with transaction.atomic():
            person: User = form.save() if is_new else signed_in_person(request)
            accept_invitation(invitation=invitation, person=person)
    except IntegrityError:
        # Somebody took the name since the form was validated.
        name = form.cleaned_data.get("username", "") if is_new else ""
        if not User.objects.filter(username=name).exists():
            raise
        taken = form.instance.unique_error_message(User, ("username",))
        form.add_error("username", taken)
        return _offer(request, invitation, form, 422)
    except BenchmarksError as error:
        messages.error(request, wording.said(error.sentence))
        return redirect("dashboard:invitation")
    request.session.pop(PROVED_INVITATION, None)
    if is_new:
        login(request, person)
    messages.success(request, _("You joined %(lab)s.") % {"lab": invitation.lab})
    return redirect("dashboard:lab", invitation.lab.slug)


def _offer(
    request: HttpRequest,
    invitation: Invitation,
    form: NewPersonForm,
    status: int,
) -> HttpResponse:
    context = {"invitation": invitation, "form": form, "oidc": settings.OIDC}
    return render(request, "labs/invitation_offer.html", context, status=status)
