from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.errors import BenchmarksError
from benchmarks.labs.members import person_agent
from benchmarks.models import Lab
from benchmarks.uploads.study_files import import_study_file
from dashboard import wording
from dashboard.kit import formatting
from dashboard.kit.viewers import query_params, required_user, user_labs

PROBLEMS_SHOWN = 20


def editable_labs(request: HttpRequest) -> tuple[list[Lab], Lab | None]:
    """Return the labs that may create a study, and the one of the URL or the first.

    Raises Http404 for a lab of other people.
    """
    slug = query_params(request).get("lab", "")
    if slug and slug not in {lab.slug for lab in user_labs(request)}:
        raise Http404("Lab not found, or you are not a member.")
    labs = user_labs(request, editable_only=True)
    matching = [lab for lab in labs if not slug or lab.slug == slug]
    return labs, matching[0] if matching else None


def import_study(request: HttpRequest) -> HttpResponse:
    labs, lab = editable_labs(request)
    if lab is None:
        return render(request, "study_settings/no_lab.html", status=403)
    context: dict[str, Any] = {
        "title": _("Import a study"),
        "labs": labs,
        "lab": lab,
    }
    if request.method != "POST":
        return render(request, "study_settings/import.html", context)
    file, limit = request.FILES.get("file"), settings.UPLOAD_LIMIT_BYTES
    if file is None:
        context["problem"] = _("Choose a study file.")
    elif (file.size or 0) > limit:
        context["problem"] = _(
            "The file is larger than %(most)s. Compress it with gzip, or export the "
            "study without raw output."
        ) % {"most": formatting.file_size(limit)}
    else:
        agent = person_agent(lab=lab, user=required_user(request))
        try:
            imported = import_study_file(agent, file.read())
        except BenchmarksError as error:
            context["problem"] = wording.translate_text(error.sentence)
            context["entries"] = list((error.fields or {}).items())[:PROBLEMS_SHOWN]
        else:
            text = ngettext(
                "Study imported with %(n)s new run. Only your lab can see it.",
                "Study imported with %(n)s new runs. Only your lab can see it.",
                imported.accepted,
            )
            if not imported.is_new:
                text = ngettext(
                    "This study already exists. %(n)s run was added.",
                    "This study already exists. %(n)s runs were added.",
                    imported.accepted,
                )
            messages.success(request, text % {"n": imported.accepted})
            return redirect("dashboard:study", lab.slug, imported.study.slug)
    return render(request, "study_settings/import.html", context, status=422)
