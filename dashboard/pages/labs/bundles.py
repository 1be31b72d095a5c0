from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from benchmarks.errors import BenchmarksError
from benchmarks.uploads.bundles import import_bundle
from dashboard import wording
from dashboard.exports.citation import site_url
from dashboard.kit.viewers import required_user
from dashboard.pages.labs.lab_of_request import editable_lab_or_404

OFFLINE_COMMANDS = """\
virtlab-agent.pyz enroll --offline --server {server} --token -
virtlab-agent.pyz push --later --study my-study --host athlon *.txt
virtlab-agent.pyz bundle write /media/stick"""


@never_cache
def import_bundles(request: HttpRequest, lab: str) -> HttpResponse:
    access = editable_lab_or_404(request, lab)
    server = site_url(request)
    context: dict[str, Any] = {
        "access": access,
        "commands": OFFLINE_COMMANDS.format(server=server),
    }
    if request.method != "POST":
        return render(request, "labs/bundles.html", context)
    files = request.FILES.getlist("bundles")
    lines: list[dict[str, Any]] = []
    for file in files:
        try:
            person = required_user(request)
            imported = import_bundle(content=file.read(), lab=access.lab, person=person)
            lines.append({"name": file.name, "done": imported})
        except BenchmarksError as error:
            # Nothing of this bundle was stored.
            problem = wording.translate_text(error.sentence)
            lines.append({"name": file.name, "problem": problem})
    context["lines"] = lines
    context["problem"] = "" if files else _("Choose at least one bundle.")
    is_success = bool(lines) and all("done" in line for line in lines)
    return render(
        request, "labs/bundles.html", context, status=201 if is_success else 422
    )
