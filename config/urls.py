"""URLs: metrics, the API under its version, the agent, then pages."""

from functools import cache

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path
from django.views.decorators.http import require_safe

from agents import build
from benchmarks.monitoring import exposition, gauges
from dashboard.pages.account import sign_in
from dashboard.urls import moved_patterns


@cache
def agent_file() -> bytes:
    """Return the agent built from these sources, once per process."""
    return build.build()


@require_safe
def download_agent(request: HttpRequest) -> HttpResponse:
    return HttpResponse(
        agent_file(),
        content_type="application/octet-stream",
        headers={"Content-Disposition": f'attachment; filename="{build.NAME}"'},
    )


@require_safe
def show_checksum(request: HttpRequest) -> HttpResponse:
    """Return the line that `sha256sum --check` reads."""
    return HttpResponse(build.checksum(agent_file()), content_type="text/plain")


@require_safe
def show_metrics(request: HttpRequest) -> HttpResponse:
    """Return the metrics to clients with the token; 404 to others."""
    if not exposition.may_read(request.headers.get("Authorization", "")):
        raise Http404
    return HttpResponse(
        exposition.text(gauges.State()),
        content_type=exposition.CONTENT_TYPE,
        headers={"Cache-Control": "no-store"},
    )


handler500 = "dashboard.kit.hooks.show_broken"

urlpatterns = [
    path("metrics", show_metrics, name="metrics"),
    path("api/v1/", include("api.urls")),
    path(f"agent/{build.NAME}", download_agent, name="agent"),
    path(f"agent/{build.NAME}.sha256", show_checksum, name="agent-checksum"),
    path("", include("dashboard.urls")),
    # What allauth calls them.
    path("login/", sign_in.SignIn.as_view(), name="account_login"),
    path("login/second-factor/", sign_in.SecondStep.as_view(), name="mfa_authenticate"),
    path("", include(moved_patterns)),
]
