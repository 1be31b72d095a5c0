"""Bundles of agents without a network: imported where their lab keeps its tokens."""

from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from benchmarks.errors import BenchmarksError
from benchmarks.models import Lab
from benchmarks.uploads.bundles import Imported, import_bundle
from dashboard import wording
from dashboard.kit.viewers import signed_in_person
from dashboard.pages.labs.places import kept_lab_or_404

CREATED, UNPROCESSABLE = 201, 422
COMMANDS = """\
virtlab-agent.pyz enroll --offline --server {server} --token -
virtlab-agent.pyz push --later --study my-study --host athlon *.txt
virtlab-agent.pyz bundle write /media/stick"""


@never_cache
def import_bundles(request: HttpRequest, lab: str) -> HttpResponse:
    """Show how bundles come here; import those that were chosen, each for itself."""
    place = kept_lab_or_404(request, lab)
    server = request.build_absolute_uri("/").rstrip("/")
    context: dict[str, Any] = {
        "place": place,
        "commands": COMMANDS.format(server=server),
    }
    if request.method != "POST":
        return render(request, "labs/bundles.html", context)
    files = request.FILES.getlist("bundles")
    lines = [_line(request, place.lab, file) for file in files]
    problem = "" if files else _("Choose at least one bundle.")
    is_good = bool(lines) and all("done" in line for line in lines)
    context.update(lines=lines, problem=problem)
    status = CREATED if is_good else UNPROCESSABLE
    return render(request, "labs/bundles.html", context, status=status)


def _line(request: HttpRequest, lab: Lab, file: UploadedFile) -> dict[str, Any]:
    """Return what became of one file: what was stored of it, or why nothing was."""
    try:
        done: Imported = import_bundle(
            packed=file.read(), lab=lab, person=signed_in_person(request)
        )
    except BenchmarksError as error:
        return {"name": file.name, "problem": wording.said(error.sentence)}
    return {"name": file.name, "done": done}
