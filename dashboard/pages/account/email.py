"""Email addresses, password resets and unsubscribing.

Secret codes are in the fragment (#) of an emailed link and are sent in a form, so that
no log has them.
"""

from typing import Any, Final

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import SetPasswordForm
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from benchmarks.collaboration.outgoing_mail import (
    address_from_code,
    is_email_address,
    mail_address_confirmation,
    mail_password_reset,
    person_for_reset_code,
)
from benchmarks.collaboration.subscriptions import end_digest, person_id_from_code
from benchmarks.errors import BenchmarksError
from benchmarks.labs.sign_in_methods import (
    log_in_labs,
    remove_verified_address,
    set_verified_address,
)
from benchmarks.labs.sign_in_throttle import SignInAttempt
from benchmarks.models import AuditEntry
from dashboard import wording
from dashboard.kit.viewers import required_user, sign_in_required
from dashboard.pages.account.sign_in import reauthentication_required

# Verified code of a password reset.
RESET_SESSION_KEY: Final = "new-password"


class EmailAddressForm(forms.Form):
    email = forms.EmailField(
        label=gettext_lazy("Email address"),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )

    def clean_email(self) -> str:
        """Reject addresses that mail servers interpret differently."""
        email = str(self.cleaned_data["email"])
        if not is_email_address(email):
            raise forms.ValidationError(
                _("Use a valid email address with ASCII characters only.")
            )
        return email


class ForgotPasswordForm(forms.Form):
    name_or_email = forms.CharField(
        label=gettext_lazy("Username or email address"),
        max_length=254,
        widget=forms.TextInput(attrs={"autocomplete": "username"}),
    )


class EmailLinkForm(forms.Form):
    code = forms.CharField(
        label=gettext_lazy("Link from the email"),
        max_length=1_000,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def clean_code(self) -> str:
        return str(self.cleaned_data["code"]).rpartition("#")[2].strip()


def _require_mail() -> None:
    if settings.MAIL_SERVER is None:
        raise Http404("This server sends no mail.")


@require_POST
@reauthentication_required
def set_email(request: HttpRequest) -> HttpResponse:
    _require_mail()
    form = EmailAddressForm(request.POST)
    if form.is_valid():
        mail_address_confirmation(required_user(request), form.cleaned_data["email"])
        text = _("An email is on its way. Open the link in it in this browser.")
        messages.success(request, text)
    else:
        messages.error(request, " ".join(map(str, form.errors["email"])))
    return redirect("dashboard:account")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@sign_in_required
def confirm_email(request: HttpRequest) -> HttpResponse:
    _require_mail()
    form = EmailLinkForm(request.POST or None)
    if request.method != "POST":
        context = {"form": form, "title": _("Confirm your email address")}
        return render(request, "account/email_link.html", context)
    person = required_user(request)
    address = ""
    if form.is_valid():
        address = address_from_code(form.cleaned_data["code"], person)
    if not address:
        text = _(
            "This link is invalid or has expired, or it was sent for another account."
        )
        messages.error(request, text)
        return redirect("dashboard:account")
    try:
        set_verified_address(person, address)
    except BenchmarksError as error:
        messages.error(request, wording.translate_text(error.sentence))
    else:
        text = _("Email is now sent to %(address)s.")
        messages.success(request, text % {"address": address})
    return redirect("dashboard:account")


@require_POST
@reauthentication_required
def remove_email(request: HttpRequest) -> HttpResponse:
    remove_verified_address(required_user(request))
    messages.success(
        request, _("The email address was removed. No email will be sent to it.")
    )
    return redirect("dashboard:account")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def forgot_password(request: HttpRequest) -> HttpResponse:
    """Email a password reset link; do not reveal whether the account exists."""
    _require_mail()
    form = ForgotPasswordForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        status = 422 if request.method == "POST" else 200
        return render(
            request, "account/forgot_password.html", {"form": form}, status=status
        )
    name_or_email = form.cleaned_data["name_or_email"]
    # This attempt always counts: no correct password resets the count.
    remote_address = request.META.get("REMOTE_ADDR", "")
    SignInAttempt(f"forgotten {name_or_email}", remote_address).count()
    mail_password_reset(name_or_email)
    return render(request, "account/forgot_password.html", {"is_sent": True})


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def set_new_password(request: HttpRequest) -> HttpResponse:
    """Set a new password; the second factor stays."""
    _require_mail()
    is_sent = request.method == "POST"
    if is_sent and "code" in request.POST:
        link = EmailLinkForm(request.POST)
        if (
            link.is_valid()
            and person_for_reset_code(link.cleaned_data["code"]) is not None
        ):
            request.session[RESET_SESSION_KEY] = link.cleaned_data["code"]
            return redirect("dashboard:new-password")
        return _expired_link_page(request)
    person = person_for_reset_code(request.session.get(RESET_SESSION_KEY, ""))
    if person is None and is_sent:
        return _expired_link_page(request)
    if person is None:
        context = {"form": EmailLinkForm(), "title": _("Set a new password")}
        return render(request, "account/email_link.html", context)
    form: Any = SetPasswordForm(person, request.POST if is_sent else None)
    if not form.is_valid():
        context = {"form": form, "name": person.get_username()}
        status = 422 if is_sent else 200
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


@csrf_exempt  # mail programs send the form without our page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, code: str) -> HttpResponse:
    """Unsubscribe by POST; GET only shows the form."""
    person_id = person_id_from_code(code)
    if person_id is None:
        raise Http404("Address not found.")
    if request.method == "POST":
        end_digest(person_id)
    context = {"is_ended": request.method == "POST"}
    return render(request, "account/unsubscribe.html", context)
