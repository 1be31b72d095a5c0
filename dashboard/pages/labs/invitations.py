"""An invitation, as the invited person meets it.

The code stands behind the # of the link and comes in a form, so that it is in no log.
The session then remembers which invitation was proved, never the code.
"""

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from benchmarks.errors import BenchmarksError
from benchmarks.labs.people import accept_invitation, find_invitation
from benchmarks.models import Invitation
from dashboard import wording
from dashboard.kit.viewers import signed_in_person
from dashboard.pages.labs.forms import CodeForm, NewPersonForm

PROVED = "invitation"


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def answer_invitation(request: HttpRequest) -> HttpResponse:
    """Ask for the code, then whether to join, then open the lab."""
    if request.method == "POST" and "code" in request.POST:
        return _prove(request)
    invitations = Invitation.objects.select_related("lab")
    found = invitations.filter(pk=request.session.get(PROVED, 0)).first()
    proved = found if found is not None and found.is_open() else None
    if proved is None:
        return render(request, "labs/invitation.html", {"form": CodeForm()})
    if request.method == "POST":
        return _join(request, proved)
    return _offer(request, proved, NewPersonForm(), 200)


def _prove(request: HttpRequest) -> HttpResponse:
    form = CodeForm(request.POST)
    if form.is_valid():
        try:
            found = find_invitation(form.cleaned_data["code"])
        except BenchmarksError as error:
            form.add_error("code", wording.said(error.sentence))
        else:
            request.session[PROVED] = found.pk
            return redirect("dashboard:invitation")
    return render(request, "labs/invitation.html", {"form": form}, status=422)


def _join(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    form: Any = NewPersonForm(request.POST)
    if not request.user.is_authenticated and not form.is_valid():
        return _offer(request, invitation, form, 422)
    is_new = not request.user.is_authenticated
    try:
        with transaction.atomic():
            person = _new_person(form) if is_new else signed_in_person(request)
            if person is None:
                return _offer(request, invitation, form, 422)
            accept_invitation(invitation=invitation, person=person)
    except BenchmarksError as error:
        messages.error(request, wording.said(error.sentence))
        return redirect("dashboard:invitation")
    request.session.pop(PROVED, None)
    if is_new:
        login(request, person)
    messages.success(request, _("You joined %(lab)s.") % {"lab": invitation.lab})
    return redirect("dashboard:lab", invitation.lab.slug)


def _new_person(form: Any) -> User | None:
    """Store a new account; none where somebody took its name since the form looked."""
    try:
        with transaction.atomic():
            return cast(User, form.save())
    except IntegrityError:
        taken = form.instance.unique_error_message(User, ("username",))
        form.add_error("username", taken)
        return None


def _offer(
    request: HttpRequest,
    invitation: Invitation,
    form: NewPersonForm,
    status: int,
) -> HttpResponse:
    context = {"invitation": invitation, "form": form}
    return render(request, "labs/invitation_offer.html", context, status=status)
