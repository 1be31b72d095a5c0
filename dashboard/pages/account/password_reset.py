"""Password resets by email.

Secret codes are handled as in `email_addresses`.
"""

from typing import Any, Final

from django import forms
from django.contrib import messages
from django.contrib.auth.forms import SetPasswordForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from benchmarks.collaboration.outgoing_mail import (
    mail_password_reset,
    person_for_reset_code,
)
from benchmarks.labs.member_sign_in_methods import log_in_labs
from benchmarks.labs.sign_in_throttle import SignInAttempt
from benchmarks.models import AuditEntry
from dashboard.pages.account.email_addresses import EmailLinkForm, require_mail

# Session key for the verified code of a password reset.
RESET_SESSION_KEY: Final = "new-password"


class ForgotPasswordForm(forms.Form):
    name_or_email = forms.CharField(
        label=gettext_lazy("Username or email address"),
        max_length=254,
        widget=forms.TextInput(attrs={"autocomplete": "username"}),
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def forgot_password(request: HttpRequest) -> HttpResponse:
    """Email a link to reset the password.

    The response does not reveal whether the account exists.
    """
    require_mail()
    form = ForgotPasswordForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        status = 422 if request.method == "POST" else 200
        return render(
            request, "account/forgot_password.html", {"form": form}, status=status
        )
    name_or_email = form.cleaned_data["name_or_email"]
    # This attempt stays counted, because no correct password follows.
    remote_address = request.META.get("REMOTE_ADDR", "")
    SignInAttempt(f"forgotten {name_or_email}", remote_address).count()
    mail_password_reset(name_or_email)
    return render(request, "account/forgot_password.html", {"is_sent": True})


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def set_new_password(request: HttpRequest) -> HttpResponse:
    """Set a new password. The second factor is still required to sign in."""
    require_mail()
    is_post = request.method == "POST"
    if is_post and "code" in request.POST:
        link = EmailLinkForm(request.POST)
        if (
            link.is_valid()
            and person_for_reset_code(link.cleaned_data["code"]) is not None
        ):
            request.session[RESET_SESSION_KEY] = link.cleaned_data["code"]
            return redirect("dashboard:new-password")
        return _expired_link_page(request)
    person = person_for_reset_code(request.session.get(RESET_SESSION_KEY, ""))
    if person is None and is_post:
        return _expired_link_page(request)
    if person is None:
        context = {"form": EmailLinkForm(), "title": _("Set a new password")}
        return render(request, "account/email_link.html", context)
    form: Any = SetPasswordForm(person, request.POST if is_post else None)
    if not form.is_valid():
        context = {"form": form, "name": person.get_username()}
        status = 422 if is_post else 200
        return render(request, "account/new_password.html", context, status=status)
    form.save()  # ends every session and invalidates this link
    request.session.pop(RESET_SESSION_KEY, None)
    log_in_labs(person, AuditEntry.Kind.RESET_PASSWORD, person.get_username())
    messages.success(request, _("Your password is set. You can now sign in."))
    return redirect("dashboard:login")


def _expired_link_page(request: HttpRequest) -> HttpResponse:
    request.session.pop(RESET_SESSION_KEY, None)
    messages.error(
        request, _("This link is invalid or has expired. Request a new one.")
    )
    return redirect("dashboard:forgot-password")
