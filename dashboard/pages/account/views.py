"""Signing in, and a person's own account."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, LogoutView, PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse, reverse_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from benchmarks.errors import TooFastError, TooManyAttemptsError
from benchmarks.labs.people import end_sessions
from benchmarks.labs.throttle import KNOWN_S, Attempt, known_browser
from benchmarks.models import Membership
from dashboard.kit.viewers import signed_in, signed_in_person

KNOWN = "known-browser"


class OwnPasswordForm(forms.Form):
    """The signed-in person's password, asked for once more."""

    password = forms.CharField(
        label=gettext_lazy("Your password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, person: User, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.person = person

    def clean_password(self) -> str:
        """Refuse a wrong one."""
        password = str(self.cleaned_data["password"])
        if not self.person.check_password(password):
            raise forms.ValidationError(_("Wrong password."))
        return password


class SignIn(LoginView):
    """Django's sign-in, with a bound on how often a password is tried."""

    template_name = "account/login.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        try:
            self.trial = _attempt(request, request.POST.get("username", ""))
        except TooManyAttemptsError as error:
            return _refused(request, error)
        with _uncounted_if_busy(self.trial):
            return super().post(request, *args, **options)

    def form_valid(self, form: Any) -> HttpResponse:
        self.trial.succeeded()
        answer = super().form_valid(form)
        # Others' wrong tries do not hold up this browser.
        answer.set_cookie(
            KNOWN,
            known_browser(form.get_user().get_username()),
            max_age=KNOWN_S,
            path=reverse("dashboard:login"),
            secure=settings.HTTPS,
            httponly=True,
            samesite="Lax",
        )
        return answer


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
        try:
            # A stolen session could try passwords here without end.
            self.trial = _attempt(request, signed_in_person(request).get_username())
        except TooManyAttemptsError as error:
            return _refused(request, error)
        with _uncounted_if_busy(self.trial):
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
    """Show a person their labs, and what they can do about their account."""
    return _account(request, OwnPasswordForm(signed_in_person(request)), 200)


@sensitive_post_parameters()
@require_POST
@signed_in
def sign_out_everywhere(request: HttpRequest) -> HttpResponse:
    """End every session of a person, this one included."""
    person = signed_in_person(request)
    try:
        # A stolen session could try passwords here without end.
        trial = _attempt(request, person.get_username())
    except TooManyAttemptsError as error:
        return _refused(request, error)
    form = OwnPasswordForm(person, request.POST)
    with _uncounted_if_busy(trial):
        is_right = form.is_valid()
    if not is_right:
        return _account(request, form, 422)
    trial.succeeded()
    end_sessions(person=person, password=form.cleaned_data["password"])
    messages.success(request, _("You are signed out everywhere."))
    return redirect("dashboard:login")


def _account(request: HttpRequest, form: OwnPasswordForm, status: int) -> HttpResponse:
    mine = Membership.objects.filter(user=signed_in_person(request))
    context = {
        "form": form,
        "memberships": mine.select_related("lab").order_by("lab__name"),
    }
    return render(request, "account/account.html", context, status=status)


def _attempt(request: HttpRequest, name: str) -> Attempt:
    """Count an attempt at a password, before it is looked at."""
    address = request.META.get("REMOTE_ADDR", "")
    trial = Attempt(name, address, request.COOKIES.get(KNOWN, ""))
    trial.count()
    return trial


@contextmanager
def _uncounted_if_busy(trial: Attempt) -> Iterator[None]:
    """Give an attempt back whose password nobody had the time to look at."""
    try:
        yield
    except TooFastError:
        trial.succeeded()
        raise


def _refused(request: HttpRequest, error: TooManyAttemptsError) -> HttpResponse:
    answer = render(request, "account/attempts.html", {"error": error}, status=429)
    answer["Retry-After"] = str(error.wait_s)
    return answer


urlpatterns = [
    path("account/", show_account, name="account"),
    path("account/password/", ChangePassword.as_view(), name="password"),
    path(
        "account/sign-out-everywhere/", sign_out_everywhere, name="sign-out-everywhere"
    ),
    path("login/", SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
]
