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

from benchmarks.collaboration.saved_views import visible_views
from benchmarks.errors import BenchmarksError
from benchmarks.labs.creation import operates_server
from benchmarks.labs.member_sign_in_methods import (
    linked_account,
    list_second_factors,
    unlink_account,
    verified_address,
)
from benchmarks.labs.members import end_sessions
from benchmarks.models import Membership
from dashboard import wording
from dashboard.kit.routes import route
from dashboard.kit.viewers import required_user, sign_in_required, viewer_of
from dashboard.pages.account import email_addresses, password_reset, second_factors
from dashboard.pages.account.adapters import configured_provider
from dashboard.pages.account.email_addresses import EmailAddressForm
from dashboard.pages.account.sign_in import (
    ConfirmPasswordForm,
    SecondFactorView,
    SignInView,
    SignOutView,
    count_attempt,
    is_recently_authenticated,
    provider_callback,
    reauthenticate,
    reauthentication_required,
    redirect_to_provider,
    refund_attempt_if_busy,
)


class ChangePasswordView(PasswordChangeView):
    """Django's view, which also ends all other sessions of the user."""

    template_name = "account/password.html"
    success_url = reverse_lazy("dashboard:account")

    def get_form(self, form_class: Any = None) -> Any:
        form = super().get_form(form_class)
        # Autofocus would make screen readers skip the text before the form.
        form.fields["old_password"].widget.attrs.pop("autofocus", None)
        return form

    def post(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        # Limit guesses of the password, because the session may be stolen.
        self.attempt = count_attempt(request, required_user(request).get_username())
        with refund_attempt_if_busy(self.attempt):
            return super().post(request, *args, **options)

    def form_valid(self, form: Any) -> HttpResponse:
        self.attempt.give_back()
        done = _("Your password was changed. You were signed out on all other devices.")
        messages.success(self.request, done)
        return super().form_valid(form)


@never_cache
@require_safe
@sign_in_required
def show_account(request: HttpRequest) -> HttpResponse:
    return _account(request, ConfirmPasswordForm(required_user(request)), 200)


@sensitive_post_parameters()
@require_POST
@sign_in_required
def sign_out_everywhere(request: HttpRequest) -> HttpResponse:
    person = required_user(request)
    if not person.has_usable_password():
        if not is_recently_authenticated(request):
            return redirect(f"{reverse('dashboard:reauthenticate')}?next=/account/")
        end_sessions(person=person)
        messages.success(request, _("You are signed out everywhere."))
        return redirect("dashboard:login")
    attempt = count_attempt(request, person.get_username())
    form = ConfirmPasswordForm(person, request.POST)
    with refund_attempt_if_busy(attempt):
        is_valid = form.is_valid()
    if not is_valid:
        return _account(request, form, 422)
    attempt.give_back()
    end_sessions(person=person, password=form.cleaned_data["password"])
    messages.success(request, _("You are signed out everywhere."))
    return redirect("dashboard:login")


def _account(
    request: HttpRequest, form: ConfirmPasswordForm, status: int
) -> HttpResponse:
    person = required_user(request)
    memberships = Membership.objects.filter(user=person)
    context = {
        "form": form,
        "oidc": settings.OIDC_PROVIDER,
        "linked": linked_account(person) if settings.OIDC_PROVIDER else None,
        "sends_mail": settings.MAIL_SERVER is not None,
        "address": verified_address(person),
        "address_form": EmailAddressForm(),
        "factors": list_second_factors(person),
        "views": visible_views(viewer_of(request), person),
        "operates_server": operates_server(person),
        "memberships": memberships.select_related("lab").order_by("lab__name"),
    }
    return render(request, "account/account.html", context, status=status)


@require_POST
@reauthentication_required
def unlink_provider(request: HttpRequest) -> HttpResponse:
    name = configured_provider().name
    try:
        unlink_account(required_user(request), name)
    except BenchmarksError as error:
        messages.error(request, wording.translate_text(error.sentence))
    else:
        text = _("You can no longer sign in with %(provider)s.")
        messages.success(request, text % {"provider": name})
    return redirect("dashboard:account")


urlpatterns = [
    route("account/", show_account, "account", anonymous_status=302),
    route(
        "account/password/",
        ChangePasswordView.as_view(),
        "password",
        anonymous_status=302,
    ),
    route(
        "account/sign-out-everywhere/",
        sign_out_everywhere,
        "sign-out-everywhere",
        kind="action",
    ),
    route(
        "account/reauthenticate/",
        reauthenticate,
        "reauthenticate",
        anonymous_status=302,
    ),
    route(
        "account/second-factor/",
        second_factors.show_second_factors,
        "second-factors",
        anonymous_status=302,
    ),
    # Requires recent authentication; test_second_factor_browser.py tests these pages.
    route(
        "account/second-factor/app/",
        second_factors.add_authenticator_app,
        "add-authenticator-app",
        kind="part",
        anonymous_status=302,
    ),
    route(
        "account/second-factor/passkey/",
        second_factors.AddPasskeyView.as_view(),
        "add-passkey",
        kind="part",
        anonymous_status=302,
    ),
    route(
        "account/second-factor/codes/",
        second_factors.create_recovery_codes,
        "recovery-codes",
        kind="action",
    ),
    route(
        "account/second-factor/<int:pk>/",
        second_factors.remove_second_factor,
        "remove-second-factor",
        kind="action",
        is_private=False,
    ),
    route("account/unlink/", unlink_provider, "unlink", kind="action"),
    route("account/email/", email_addresses.set_email, "set-email", kind="action"),
    route(
        "account/email/confirm/",
        email_addresses.confirm_email,
        "confirm-email",
        kind="part",
        anonymous_status=302,
    ),
    route(
        "account/email/remove/",
        email_addresses.remove_email,
        "remove-email",
        kind="action",
    ),
    route("login/", SignInView.as_view(), "login"),
    route(
        "login/second-factor/",
        SecondFactorView.as_view(),
        "login-second-factor",
        kind="part",
        anonymous_status=302,
    ),
    route("login/provider/", redirect_to_provider, "provider-login", kind="action"),
    route("login/callback/", provider_callback, "provider-callback", kind="part"),
    # These pages exist only if email is configured; test_mail.py tests them.
    route(
        "login/forgot-password/",
        password_reset.forgot_password,
        "forgot-password",
        kind="part",
    ),
    route(
        "login/new-password/",
        password_reset.set_new_password,
        "new-password",
        kind="part",
    ),
    route(
        "unsubscribe/<str:code>/",
        email_addresses.unsubscribe,
        "unsubscribe",
        kind="part",
        is_private=False,
    ),
    route("logout/", SignOutView.as_view(), "logout", kind="action"),
]
