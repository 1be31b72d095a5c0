"""The agent for download, built from the sources that run here, with its checksum."""

from functools import cache

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe

from agents import build


@cache
def agent_file() -> bytes:
    """Return the agent; built once a process, and the same in each of them."""
    return build.build()


@require_safe
def download_agent(request: HttpRequest) -> HttpResponse:
    """Hand out the agent; it is public, as its sources are."""
    return HttpResponse(
        agent_file(),
        content_type="application/octet-stream",
        headers={"Content-Disposition": f'attachment; filename="{build.NAME}"'},
    )


@require_safe
def show_checksum(request: HttpRequest) -> HttpResponse:
    """Hand out the line that `sha256sum --check` reads."""
    return HttpResponse(build.checksum(agent_file()), content_type="text/plain")


urlpatterns = [
    path(build.NAME, download_agent, name="agent"),
    path(f"{build.NAME}.sha256", show_checksum, name="agent-checksum"),
]
