from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.cache import patch_cache_control
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from dashboard.kit.routes import REDIRECTED, page


def select_language(request: HttpRequest, code: str) -> HttpResponse:
    if code not in dict(settings.LANGUAGES):
        raise Http404(_("This language is not available."))
    origin = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(
        origin, {request.get_host()}, require_https=request.is_secure()
    )
    response = redirect(origin if is_ours else "dashboard:home")
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        code,
        max_age=settings.LANGUAGE_COOKIE_AGE,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
        samesite="Lax",
    )
    patch_cache_control(response, no_store=True)
    return response


urlpatterns = [
    page(
        "language/<slug:code>/",
        select_language,
        "select-language",
        kind="part",
        is_private=False,
        member_statuses=REDIRECTED,
        anonymous_status=302,
    ),
]
