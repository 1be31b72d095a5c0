from functools import cache

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path
from django.views.decorators.http import require_safe

from agents import build
from benchmarks.monitoring import exposition, gauges
from dashboard.pages.account import sign_in
from dashboard.urls import redirect_patterns


@cache
def agent_file() -> bytes:
    return build.build_archive()


@cache
def readers_file() -> bytes:
    return build.build_readers()


@require_safe
def download_agent(request: HttpRequest) -> HttpResponse:
    return _program(agent_file(), build.NAME)


@require_safe
def download_readers(request: HttpRequest) -> HttpResponse:
    return _program(readers_file(), build.READERS_NAME)


def _program(content: bytes, name: str) -> HttpResponse:
    return HttpResponse(
        content,
        content_type="application/octet-stream",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@require_safe
def show_checksum(request: HttpRequest) -> HttpResponse:
    return HttpResponse(build.checksum_line(agent_file()), content_type="text/plain")


@require_safe
def show_metrics(request: HttpRequest) -> HttpResponse:
    if not exposition.is_authorized(request.headers.get("Authorization", "")):
        raise Http404
    return HttpResponse(
        exposition.render_metrics(gauges.InstallationCollector()),
        content_type=exposition.CONTENT_TYPE,
        headers={"Cache-Control": "no-store"},
    )


handler400 = "dashboard.kit.error_pages.bad_request_page"
handler500 = "dashboard.kit.error_pages.server_error_page"

urlpatterns = [
    path("metrics", show_metrics, name="metrics"),
    path("api/v1/", include("api.urls")),
    path(f"agent/{build.NAME}", download_agent, name="agent"),
    path(f"agent/{build.NAME}.sha256", show_checksum, name="agent-checksum"),
    path(f"agent/{build.READERS_NAME}", download_readers, name="readers"),
    path("", include("dashboard.urls")),
    # Names that allauth expects.
    path("login/", sign_in.SignInView.as_view(), name="account_login"),
    path(
        "login/second-factor/",
        sign_in.SecondFactorView.as_view(),
        name="mfa_authenticate",
    ),
    path("", include(redirect_patterns)),
]
