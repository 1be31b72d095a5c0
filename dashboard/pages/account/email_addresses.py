"""Email addresses of a user, and unsubscribing.

Secret codes of emailed links are in the fragment, and pages send them in forms, so that
no log contains them.
"""

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from benchmarks.collaboration.outgoing_mail import (
    address_from_code,
    is_email_address,
    mail_address_confirmation,
)
from benchmarks.collaboration.subscriptions import end_digest, person_id_from_code
from benchmarks.errors import BenchmarksError
from benchmarks.labs.member_sign_in_methods import (
    remove_verified_address,
    set_verified_address,
)
from dashboard import wording
from dashboard.kit.viewers import required_user, sign_in_required
from dashboard.pages.account.sign_in import reauthentication_required


class EmailAddressForm(forms.Form):
    email = forms.EmailField(
        label=gettext_lazy("Email address"),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )

    def clean_email(self) -> str:
        """Reject addresses that not all mail servers interpret in the same way."""
        email = str(self.cleaned_data["email"])
        if not is_email_address(email):
            raise forms.ValidationError(
                _("Use a valid email address with ASCII characters only.")
            )
        return email


class EmailLinkForm(forms.Form):
    code = forms.CharField(
        label=gettext_lazy("Link from the email"),
        max_length=1_000,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def clean_code(self) -> str:
        return str(self.cleaned_data["code"]).rpartition("#")[2].strip()


def require_mail() -> None:
    if settings.MAIL_SERVER is None:
        raise Http404("This server sends no mail.")


@require_POST
@reauthentication_required
def set_email(request: HttpRequest) -> HttpResponse:
    require_mail()
    form = EmailAddressForm(request.POST)
    if form.is_valid():
        mail_address_confirmation(required_user(request), form.cleaned_data["email"])
        text = _("An email is on its way. Open its link in this browser.")
        messages.success(request, text)
    else:
        messages.error(request, " ".join(map(str, form.errors["email"])))
    return redirect("dashboard:account")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@sign_in_required
def confirm_email(request: HttpRequest) -> HttpResponse:
    require_mail()
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


@csrf_exempt  # mail programs send this POST without opening our page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, code: str) -> HttpResponse:
    person_id = person_id_from_code(code)
    if person_id is None:
        raise Http404("Address not found.")
    if request.method == "POST":
        end_digest(person_id)
    context = {"is_ended": request.method == "POST"}
    return render(request, "account/unsubscribe.html", context)
