"""Where somebody gets mail, a new password by mail, and no more mail.

What opens something stands behind the # of a letter's link, and comes in a form: it is
in no log.
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

from benchmarks.errors import BenchmarksError
from benchmarks.labs.sign_ins import forget_address, keep_address, log_of_person
from benchmarks.labs.throttle import Attempt
from benchmarks.models import AuditEntry
from benchmarks.together.digests import end_digest, who_leaves
from benchmarks.together.letters import (
    address_of_link,
    is_address,
    mail_address,
    mail_new_password,
    person_of_reset,
)
from dashboard import wording
from dashboard.kit.viewers import signed_in, signed_in_person
from dashboard.pages.account.sign_in import confirmed

# Of a session: the code of a link that was found good.
RESET: Final = "new-password"


class AddressForm(forms.Form):
    email = forms.EmailField(
        label=gettext_lazy("Address"),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )

    def clean_email(self) -> str:
        """Refuse what mail servers take in different ways."""
        email = str(self.cleaned_data["email"])
        if not is_address(email):
            raise forms.ValidationError(_("Use an address of plain letters."))
        return email


class ForgottenForm(forms.Form):
    who = forms.CharField(
        label=gettext_lazy("Username or e-mail address"),
        max_length=254,
        widget=forms.TextInput(attrs={"autocomplete": "username"}),
    )


class LinkForm(forms.Form):
    """The code of a letter's link, or the whole link."""

    code = forms.CharField(
        label=gettext_lazy("Link from the letter"),
        max_length=1_000,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def clean_code(self) -> str:
        """Return what stands behind the # of a link, or all of a bare code."""
        return str(self.cleaned_data["code"]).rpartition("#")[2].strip()


def _require_mail() -> None:
    if settings.EMAIL is None:
        raise Http404("This server sends no mail.")


@require_POST
@confirmed
def give_address(request: HttpRequest) -> HttpResponse:
    """Have a letter sent to an address that somebody gives as theirs."""
    _require_mail()
    form = AddressForm(request.POST)
    if form.is_valid():
        mail_address(signed_in_person(request), form.cleaned_data["email"])
        text = _("A letter is on its way. Open its link in this browser.")
        messages.success(request, text)
    else:
        messages.error(request, " ".join(map(str, form.errors["email"])))
    return redirect("dashboard:account")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def confirm_address(request: HttpRequest) -> HttpResponse:
    """Take an address whose letter was read by whoever is signed in here."""
    _require_mail()
    form = LinkForm(request.POST or None)
    if request.method != "POST":
        context = {"form": form, "title": _("Confirm your address")}
        return render(request, "account/link.html", context)
    person = signed_in_person(request)
    address = ""
    if form.is_valid():
        address = address_of_link(form.cleaned_data["code"], person)
    if not address:
        text = _("This link is over, or it was sent for another account.")
        messages.error(request, text)
        return redirect("dashboard:account")
    try:
        keep_address(person, address)
    except BenchmarksError as error:
        messages.error(request, wording.said(error.sentence))
    else:
        text = _("Mail goes to %(address)s from now on.")
        messages.success(request, text % {"address": address})
    return redirect("dashboard:account")


@require_POST
@confirmed
def forget(request: HttpRequest) -> HttpResponse:
    forget_address(signed_in_person(request))
    messages.success(request, _("The address is forgotten; no mail goes to it."))
    return redirect("dashboard:account")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def forgotten(request: HttpRequest) -> HttpResponse:
    """Have a link for a new password sent; whether to anybody is not said."""
    _require_mail()
    form = ForgottenForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        status = 422 if request.method == "POST" else 200
        return render(request, "account/forgotten.html", {"form": form}, status=status)
    who = form.cleaned_data["who"]
    # Not given back: this is no password that could be right.
    Attempt(f"forgotten {who}", request.META.get("REMOTE_ADDR", "")).count()
    mail_new_password(who)
    return render(request, "account/forgotten.html", {"is_sent": True})


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new_password(request: HttpRequest) -> HttpResponse:
    """Set a new password by the link of a letter; the second factor stays."""
    _require_mail()
    is_sent = request.method == "POST"
    if is_sent and "code" in request.POST:
        link = LinkForm(request.POST)
        if link.is_valid() and person_of_reset(link.cleaned_data["code"]) is not None:
            request.session[RESET] = link.cleaned_data["code"]
            return redirect("dashboard:new-password")
        return _link_is_over(request)
    person = person_of_reset(request.session.get(RESET, ""))
    if person is None and is_sent:
        return _link_is_over(request)
    if person is None:
        context = {"form": LinkForm(), "title": _("A new password")}
        return render(request, "account/link.html", context)
    form: Any = SetPasswordForm(person, request.POST if is_sent else None)
    if not form.is_valid():
        context = {"form": form, "name": person.get_username()}
        status = 422 if is_sent else 200
        return render(request, "account/new_password.html", context, status=status)
    form.save()  # which ends every session, and this link
    request.session.pop(RESET, None)
    log_of_person(person, AuditEntry.Kind.RESET_PASSWORD, person.get_username())
    messages.success(request, _("Your password is set. Sign in with it."))
    return redirect("dashboard:login")


def _link_is_over(request: HttpRequest) -> HttpResponse:
    request.session.pop(RESET, None)
    messages.error(request, _("This link is over. Ask for another one."))
    return redirect("dashboard:forgotten")


@csrf_exempt  # a mail program sends the form, without our page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, code: str) -> HttpResponse:
    """End somebody's digest; a program that only looks ends nothing."""
    person_id = who_leaves(code)
    if person_id is None:
        raise Http404("There is no such address.")
    if request.method == "POST":
        end_digest(person_id)
    context = {"is_ended": request.method == "POST"}
    return render(request, "account/unsubscribe.html", context)
