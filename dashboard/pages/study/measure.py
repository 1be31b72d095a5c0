"""The line that enrolls a machine and measures it for a study."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from benchmarks.labs.enrolment import CODE_LIFETIME, enrolment_code
from dashboard.exports.citation import site_url
from dashboard.kit.viewers import editable_study_or_404, required_user

LINE = "curl -fsS {script} | python3 - {code}"
ENROLL_LINE = "virtlab-agent enroll --server {server} --code {code}"


@never_cache
def measure_machine(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    study = editable_study_or_404(request, lab, slug)
    code = enrolment_code(study, required_user(request))
    server = site_url(request)
    script = request.build_absolute_uri(reverse("agent-start"))
    context = {
        "study": study,
        "line": LINE.format(script=script, code=code),
        "enroll_line": ENROLL_LINE.format(server=server, code=code),
        "minutes": round(CODE_LIFETIME.total_seconds() / 60),
    }
    return render(request, "study/measure.html", context)
