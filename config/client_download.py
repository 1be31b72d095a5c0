from functools import cache

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe

from client import build

# pip reads name and version from the file name.
WHEEL = build.wheel_name(settings.VERSION)


@cache
def content() -> bytes:
    return build.wheel(settings.VERSION)


@require_safe
def download(request: HttpRequest) -> HttpResponse:
    return HttpResponse(
        content(),
        content_type="application/octet-stream",
        headers={"Content-Disposition": f'attachment; filename="{WHEEL}"'},
    )


urlpatterns = [path(f"client/{WHEEL}", download, name="client")]
