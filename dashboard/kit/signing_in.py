"""Pages for who has signed in: others are led to the sign-in page, and back."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec
from urllib.parse import urlsplit

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

Given = ParamSpec("Given")
View = Callable[Concatenate[HttpRequest, Given], HttpResponse]


def signed_in(view: View[Given]) -> View[Given]:
    """Let through who has signed in; lead others to the sign-in page."""

    @wraps(view)
    def checked(
        request: HttpRequest, *args: Given.args, **named: Given.kwargs
    ) -> HttpResponse:
        if request.user.is_authenticated:
            return view(request, *args, **named)
        # Lead the whole page there, also if a script asked for a part of it.
        answer = redirect_to_login(page_of(request))
        if "HX-Request" in request.headers:
            return HttpResponseClientRedirect(answer.url)
        return answer

    return checked


def page_of(request: HttpRequest) -> str:
    """Return the page that the reader has before them; of a form, where it stands.

    The address that takes a form shows nothing to who comes back to it.
    """
    if request.method in ("GET", "HEAD"):
        return request.get_full_path()
    told = urlsplit(request.headers.get("Referer", ""))
    if told.netloc != request.get_host():
        return reverse("dashboard:overview")
    return told._replace(scheme="", netloc="").geturl()
