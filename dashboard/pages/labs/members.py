"""The members of a lab, their roles, and invitations.

Codes of invitations are handled as in `account/email_addresses`.
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

from benchmarks.collaboration.outgoing_mail import mail_invitation
from benchmarks.errors import BenchmarksError
from benchmarks.labs.lab_queries import lab_members, open_invitations
from benchmarks.labs.member_sign_in_methods import (
    people_with_second_factor,
    require_second_factor,
)
from benchmarks.labs.members import (
    accept_invitation,
    change_role,
    find_invitation,
    invite_person,
    remove_member,
    withdraw_invitation,
)
from benchmarks.models import Invitation, Membership
from dashboard import wording
from dashboard.kit.forms import SingleLineField, submit_form
from dashboard.kit.viewers import INVITATION_SESSION_KEY, required_user
from dashboard.pages.labs.lab_of_request import (
    LabAccess,
    editable_lab_or_404,
    member_lab_or_404,
)
from dashboard.wording.state_names import ROLE_NAMES

MemberChange = Callable[..., str]


class InvitationForm(forms.Form):
    name = SingleLineField(
        label=gettext_lazy("Name or email address"),
        max_length=200,
        help_text=gettext_lazy("Shown in the list of invitations."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    role = forms.ChoiceField(label=gettext_lazy("Role"))

    def __init__(self, roles: tuple[str, ...], *args: Any) -> None:
        super().__init__(*args)
        choices = [(role, ROLE_NAMES[role]) for role in roles]
        self.fields["role"] = forms.ChoiceField(label=_("Role"), choices=choices)


class NewAccountForm(UserCreationForm):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        name = self.fields["username"]
        name.label = _("Name")
        name.help_text = _(
            "You sign in with this name. It can contain letters, digits and @ . + - _"
        )
        self.fields["password2"].label = _("Repeat password")
        self.fields["password2"].help_text = ""


class InvitationCodeForm(forms.Form):
    code = SingleLineField(
        label=gettext_lazy("Invitation code or link"),
        max_length=500,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def clean_code(self) -> str:
        return str(self.cleaned_data["code"]).rpartition("#")[2].strip()


@never_cache
def show_members(request: HttpRequest, lab: str) -> HttpResponse:
    access = member_lab_or_404(request, lab)
    form, status, context = (
        InvitationForm(access.assignable_roles),
        200,
        dict[str, Any](),
    )
    if request.method == "POST":
        editable_lab_or_404(request, lab)
        form = InvitationForm(access.assignable_roles, request.POST)
        person = required_user(request)
        created, status = submit_form(form, invite_person, lab=access.lab, actor=person)
        if created:
            invitation, code = created
            form, status = InvitationForm(access.assignable_roles), 201
            link = request.build_absolute_uri(reverse("dashboard:invitation"))
            context = {
                "invitation": invitation,
                "link": f"{link}#{code}",
                "is_mailed": mail_invitation(invitation, code),
            }
    members = list(lab_members(access.lab))
    context |= {
        "access": access,
        "form": form,
        "members": members,
        "sends_mail": settings.MAIL_SERVER is not None,
        # Only maintainers and admins see who has a second factor.
        "with_factors": people_with_second_factor(
            [member.user_id for member in members]
        )
        if access.is_editor
        else set(),
        "invitations": open_invitations(access.lab, timezone.now()),
    }
    return render(request, "labs/members.html", context, status=status)


def _changes_members(change: MemberChange) -> Callable[..., HttpResponse]:
    @wraps(change)
    def view(request: HttpRequest, lab: str, **ids: int) -> HttpResponse:
        access = member_lab_or_404(request, lab)
        try:
            messages.success(request, change(request, access, **ids))
        except BenchmarksError as error:
            messages.error(request, wording.translate_text(error.sentence))
        membership = Membership.objects.filter(
            lab=access.lab, user=required_user(request)
        )
        # A person who has left the lab may no longer see its members.
        if not membership.exists():
            return redirect("dashboard:home")
        return redirect("dashboard:members", access.lab.slug)

    return view


@_changes_members
def change_role_view(request: HttpRequest, access: LabAccess, person_id: int) -> str:
    member, role = _member(access, person_id), request.POST.get("role", "")
    if role not in Membership.Role.values:
        raise Http404("Role not found.")
    actor = required_user(request)
    change_role(lab=access.lab, actor=actor, member=member, role=role)
    return _("The role of %(name)s is now %(role)s.") % {
        "name": member,
        "role": ROLE_NAMES[role],
    }


@_changes_members
def remove_member_view(request: HttpRequest, access: LabAccess, person_id: int) -> str:
    member, actor = _member(access, person_id), required_user(request)
    remove_member(lab=access.lab, actor=actor, member=member)
    if member == actor:
        return _("You have left %(lab)s.") % {"lab": access.lab}
    return _("%(name)s was removed from this lab.") % {"name": member}


@_changes_members
def withdraw_invitation_view(
    request: HttpRequest, access: LabAccess, invitation_id: int
) -> str:
    invitation = get_object_or_404(access.lab.invitations, pk=invitation_id)
    withdraw_invitation(invitation=invitation, actor=required_user(request))
    return _("The invitation for %(name)s was withdrawn.") % {"name": invitation.name}


@_changes_members
def require_second_factor_view(request: HttpRequest, access: LabAccess) -> str:
    is_required = request.POST.get("required") == "yes"
    require_second_factor(
        lab=access.lab, actor=required_user(request), is_required=is_required
    )
    if is_required:
        return _("Members must now sign in with a second factor.")
    return _("Members no longer need a second factor to sign in.")


def _member(access: LabAccess, person_id: int) -> User:
    return get_object_or_404(User, pk=person_id, memberships__lab=access.lab)


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def accept_invitation_view(request: HttpRequest) -> HttpResponse:
    if request.method == "POST" and "code" in request.POST:
        return _check_code(request)
    invitations = Invitation.objects.select_related("lab")
    invitation = invitations.filter(
        pk=request.session.get(INVITATION_SESSION_KEY, 0)
    ).first()
    if invitation is None or not invitation.is_open():
        return render(request, "labs/invitation.html", {"form": InvitationCodeForm()})
    if request.method == "POST":
        return _join(request, invitation)
    return _invitation_page(request, invitation, NewAccountForm(), 200)


def _check_code(request: HttpRequest) -> HttpResponse:
    form = InvitationCodeForm(request.POST)
    if form.is_valid():
        try:
            invitation = find_invitation(form.cleaned_data["code"])
        except BenchmarksError as error:
            form.add_error("code", wording.translate_text(error.sentence))
        else:
            request.session[INVITATION_SESSION_KEY] = invitation.pk
            return redirect("dashboard:invitation")
    return render(request, "labs/invitation.html", {"form": form}, status=422)


def _join(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    form: Any = NewAccountForm(request.POST)
    is_new = not request.user.is_authenticated
    if is_new and not form.is_valid():
        return _invitation_page(request, invitation, form, 422)
    try:
        # If the invitation was withdrawn meanwhile, no account is created.
        with transaction.atomic():
            person: User = form.save() if is_new else required_user(request)
            accept_invitation(invitation=invitation, person=person)
    except IntegrityError:
        # Another request created an account with this name after validation.
        name = form.cleaned_data.get("username", "") if is_new else ""
        if not User.objects.filter(username=name).exists():
            raise
        taken = form.instance.unique_error_message(User, ("username",))
        form.add_error("username", taken)
        return _invitation_page(request, invitation, form, 422)
    except BenchmarksError as error:
        messages.error(request, wording.translate_text(error.sentence))
        return redirect("dashboard:invitation")
    request.session.pop(INVITATION_SESSION_KEY, None)
    if is_new:
        login(request, person)
    messages.success(request, _("You joined %(lab)s.") % {"lab": invitation.lab})
    return redirect("dashboard:lab", invitation.lab.slug)


def _invitation_page(
    request: HttpRequest,
    invitation: Invitation,
    form: NewAccountForm,
    status: int,
) -> HttpResponse:
    context = {"invitation": invitation, "form": form, "oidc": settings.OIDC_PROVIDER}
    return render(request, "labs/accept_invitation.html", context, status=status)
