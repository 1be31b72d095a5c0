from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path
from django.views.decorators.http import require_safe

from benchmarks.monitoring import exposition, gauges
from config import agent_downloads, client_download
from dashboard.pages.account import sign_in
from dashboard.urls import redirect_patterns


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
    *agent_downloads.urlpatterns,
    *client_download.urlpatterns,
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
