"""A person's own account: their labs, how they sign in, where they get mail."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from benchmarks.errors import BenchmarksError
from benchmarks.labs.people import end_sessions
from benchmarks.labs.sign_ins import (
    factors_of,
    linked_account,
    unlink,
    verified_address,
)
from benchmarks.models import Membership
from dashboard import wording
from dashboard.kit.routes import route
from dashboard.kit.viewers import signed_in, signed_in_person
from dashboard.pages.account import factors, mail
from dashboard.pages.account.adapters import provider_set
from dashboard.pages.account.mail import AddressForm
from dashboard.pages.account.sign_in import (
    OwnPasswordForm,
    SecondStep,
    SignIn,
    SignOut,
    attempt,
    come_back,
    confirm,
    confirmed,
    is_sure,
    leave_for_provider,
    uncounted_if_busy,
)


class ChangePassword(PasswordChangeView):
    """Django's change of a password: all other sessions of the person end with it."""

    template_name = "account/password.html"
    success_url = reverse_lazy("dashboard:account")

    def get_form(self, form_class: Any = None) -> Any:
        form = super().get_form(form_class)
        # A page that takes the focus hides from a screen reader what stands before.
        form.fields["old_password"].widget.attrs.pop("autofocus", None)
        return form

    def post(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        # A stolen session could try passwords here without end.
        self.trial = attempt(request, signed_in_person(request).get_username())
        with uncounted_if_busy(self.trial):
            return super().post(request, *args, **options)

    def form_valid(self, form: Any) -> HttpResponse:
        self.trial.succeeded()
        done = _("Your password was changed. All your other sessions were signed out.")
        messages.success(self.request, done)
        return super().form_valid(form)


@never_cache
@require_safe
@signed_in
def show_account(request: HttpRequest) -> HttpResponse:
    return _account(request, OwnPasswordForm(signed_in_person(request)), 200)


@sensitive_post_parameters()
@require_POST
@signed_in
def sign_out_everywhere(request: HttpRequest) -> HttpResponse:
    """End every session of a person, this one included."""
    person = signed_in_person(request)
    if not person.has_usable_password():
        if not is_sure(request):
            return redirect(f"{reverse('dashboard:confirm')}?next=/account/")
        end_sessions(person=person)
        messages.success(request, _("You are signed out everywhere."))
        return redirect("dashboard:login")
    # A stolen session could try passwords here without end.
    trial = attempt(request, person.get_username())
    form = OwnPasswordForm(person, request.POST)
    with uncounted_if_busy(trial):
        is_right = form.is_valid()
    if not is_right:
        return _account(request, form, 422)
    trial.succeeded()
    end_sessions(person=person, password=form.cleaned_data["password"])
    messages.success(request, _("You are signed out everywhere."))
    return redirect("dashboard:login")


def _account(request: HttpRequest, form: OwnPasswordForm, status: int) -> HttpResponse:
    person = signed_in_person(request)
    mine = Membership.objects.filter(user=person)
    context = {
        "form": form,
        "oidc": settings.OIDC,
        "linked": linked_account(person) if settings.OIDC else None,
        "sends_mail": settings.EMAIL is not None,
        "address": verified_address(person),
        "address_form": AddressForm(),
        "factors": factors_of(person),
        "memberships": mine.select_related("lab").order_by("lab__name"),
    }
    return render(request, "account/account.html", context, status=status)


@require_POST
@confirmed
def end_link(request: HttpRequest) -> HttpResponse:
    name = provider_set().name
    try:
        unlink(signed_in_person(request), name)
    except BenchmarksError as error:
        messages.error(request, wording.said(error.sentence))
    else:
        text = _("You no longer sign in with %(provider)s.")
        messages.success(request, text % {"provider": name})
    return redirect("dashboard:account")


urlpatterns = [
    route("account/", show_account, "account", nobody=302),
    route("account/password/", ChangePassword.as_view(), "password", nobody=302),
    route(
        "account/sign-out-everywhere/",
        sign_out_everywhere,
        "sign-out-everywhere",
        kind="action",
    ),
    route("account/confirm/", confirm, "confirm", nobody=302),
    route("account/second-factor/", factors.show, "factors", nobody=302),
    # Shown after a password: test_second_factor_browser.py.
    route(
        "account/second-factor/app/",
        factors.add_app,
        "add-app",
        kind="part",
        nobody=302,
    ),
    route(
        "account/second-factor/passkey/",
        factors.MakePasskey.as_view(),
        "add-passkey",
        kind="part",
        nobody=302,
    ),
    route(
        "account/second-factor/codes/",
        factors.make_codes,
        "recovery-codes",
        kind="action",
    ),
    route(
        "account/second-factor/<int:pk>/",
        factors.remove,
        "remove-factor",
        kind="action",
        is_private=False,
    ),
    route("account/unlink/", end_link, "unlink", kind="action"),
    route("account/address/", mail.give_address, "give-address", kind="action"),
    route(
        "account/address/confirm/",
        mail.confirm_address,
        "confirm-address",
        kind="part",
        nobody=302,
    ),
    route("account/address/forget/", mail.forget, "forget-address", kind="action"),
    route("login/", SignIn.as_view(), "login"),
    route(
        "login/second-factor/",
        SecondStep.as_view(),
        "second-step",
        kind="part",
        nobody=302,
    ),
    route("login/with/", leave_for_provider, "leave-for-provider", kind="action"),
    route("login/callback/", come_back, "come-back", kind="part"),
    # Only where mail is sent: test_mail.py.
    route("login/forgotten/", mail.forgotten, "forgotten", kind="part"),
    route("login/new-password/", mail.new_password, "new-password", kind="part"),
    route(
        "unsubscribe/<str:code>/",
        mail.unsubscribe,
        "unsubscribe",
        kind="part",
        is_private=False,
    ),
    route("logout/", SignOut.as_view(), "logout", kind="action"),
]
