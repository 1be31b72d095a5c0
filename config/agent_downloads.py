"""The agent and its packages as downloads, with checksums and signatures."""

import hashlib
from functools import cache
from os.path import splitext

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe

from agents import build
from agents.packages import build as packages
from agents.packages.wheel import agent_wheel_name
from benchmarks import agent_signatures

_BUILDERS = {**packages.BUILDERS, build.READERS_NAME: build.build_readers}
_CHECKSUM, _SIGNATURE = ".sha256", ".minisig"


@cache
def content_of(name: str) -> bytes:
    return _BUILDERS[name]()


@require_safe
def download(request: HttpRequest, name: str) -> HttpResponse:
    if name in _BUILDERS:
        return HttpResponse(
            content_of(name),
            content_type="application/octet-stream",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )
    stem, ending = splitext(name)
    if stem not in _BUILDERS:
        raise Http404
    if ending == _CHECKSUM:
        return _text(build.checksum_line(content_of(stem), stem))
    if ending == _SIGNATURE:
        return _text(agent_signatures.signature_file(stem, content_of(stem)))
    raise Http404


@require_safe
def show_public_key(request: HttpRequest) -> HttpResponse:
    return _text(agent_signatures.public_key_file())


@require_safe
def show_index(request: HttpRequest) -> HttpResponse:
    """List the wheel for pip (PEP 503)."""
    name = agent_wheel_name()
    digest = hashlib.sha256(content_of(name)).hexdigest()
    return HttpResponse(
        "<!DOCTYPE html><title>virtlab-agent</title>"
        f'<a href="../../{name}#sha256={digest}">{name}</a>'
    )


@require_safe
def show_start_script(request: HttpRequest) -> HttpResponse:
    return _text(build.start_script(request.build_absolute_uri("/").rstrip("/")))


def _text(content: str) -> HttpResponse:
    return HttpResponse(content, content_type="text/plain")


urlpatterns = [
    path("agent/virtlab-agent.pub", show_public_key, name="agent-key"),
    path("agent/simple/virtlab-agent/", show_index, name="agent-index"),
    path("agent/start.py", show_start_script, name="agent-start"),
    path("agent/<str:name>", download, name="agent"),
]
