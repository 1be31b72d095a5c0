from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from benchmarks.evidence.queries import (
    Question,
    StudyAverage,
    evidence_matrix,
    study_averages_by_question,
)
from benchmarks.evidence.subjects import (
    Machine,
    find_machine,
    listed_hypervisors,
    machine_averages,
    machine_syntheses,
    visible_machines,
)
from benchmarks.evidence.synthesis import Synthesis
from benchmarks.hypervisor_names import MAIN_HYPERVISORS, canonical_hypervisor
from benchmarks.viewer import Viewer
from benchmarks.work_classes import WORK_CLASSES
from dashboard.exports.record_files import record_file, record_file_links
from dashboard.kit.page_cache import PageContent, ViewResult, cached_page
from dashboard.kit.prefilled_links import PrefilledLinks
from dashboard.kit.routes import page
from dashboard.kit.study_sources import study_sources
from dashboard.kit.subject_urls import machine_url
from dashboard.kit.viewers import query_params, signed_in_user, viewer_of
from dashboard.pages.mix.answer import (
    MAX_PARTS,
    RECORD_FIELDS,
    MixError,
    Part,
    entered_parts,
    mix_context,
    mix_records,
)
from dashboard.wording import evidence

EMPTY_ROWS = 2


@cached_page
def show_mix(request: HttpRequest) -> ViewResult:
    viewer, query = viewer_of(request), query_params(request)
    hypervisor = query.get("hypervisor", "").strip() or MAIN_HYPERVISORS[0]
    machine_slug = query.get("machine", "")
    try:
        hypervisor, parts, machine = _entered(request, viewer)
    except ValueError as error:
        context = {
            **_form(viewer, request, [], hypervisor, machine_slug),
            "error": str(error),
        }
        return render(request, "mix/refused.html", context, status=400)
    averages, syntheses = _evidence(viewer, hypervisor, parts, machine)
    context = {
        **_form(viewer, request, parts, hypervisor, machine_slug),
        **mix_context(
            hypervisor, parts, syntheses, PrefilledLinks(signed_in_user(request))
        ),
        "machine": machine,
        "machine_url": machine_url(machine.slug) if machine else "",
        "sources": study_sources(
            member.study for members in averages.values() for member in members
        ),
        "files": record_file_links("mix-file"),
        "query": request.GET.urlencode(),
    }
    return PageContent("mix/mix.html", context)


def export_mix(request: HttpRequest, form: str) -> HttpResponse:
    viewer = viewer_of(request)
    try:
        hypervisor, parts, machine = _entered(request, viewer)
    except ValueError as error:
        return HttpResponseBadRequest(str(error), content_type="text/plain")
    averages, syntheses = _evidence(viewer, hypervisor, parts, machine)
    records = mix_records(hypervisor, parts, syntheses, averages)
    return record_file("mix", form, RECORD_FIELDS, "mix", records)


def _entered(
    request: HttpRequest, viewer: Viewer
) -> tuple[str, list[Part], Machine | None]:
    """Return hypervisor, parts and machine of the query, or raise ValueError."""
    query = query_params(request)
    name = query.get("hypervisor", "").strip() or MAIN_HYPERVISORS[0]
    hypervisor, parts = canonical_hypervisor(name), entered_parts(request.GET)
    slug = query.get("machine", "")
    machine = find_machine(viewer, slug) if slug else None
    if slug and machine is None:
        raise MixError(_("No machine of this name is known. Choose another."))
    return hypervisor, parts, machine


def _evidence(
    viewer: Viewer, hypervisor: str, parts: list[Part], machine: Machine | None
) -> tuple[Mapping[Question, list[StudyAverage]], Mapping[Question, Synthesis]]:
    questions = [Question(hypervisor, part.work) for part in parts]
    if machine is None:
        return study_averages_by_question(viewer, questions), evidence_matrix(viewer)
    found = machine_averages(viewer, machine)
    averages = {question: found.get(question, []) for question in questions}
    return averages, machine_syntheses(averages)


def _form(
    viewer: Viewer,
    request: HttpRequest,
    parts: list[Part],
    hypervisor: str,
    machine: str,
) -> dict[str, Any]:
    entered = [(part.work, f"{100 * part.share:.4g}") for part in parts] or list(
        zip(request.GET.getlist("work"), request.GET.getlist("share"), strict=False)
    )
    return {
        "parts": [*entered, *[("", "")] * EMPTY_ROWS][:MAX_PARTS],
        "works": [
            (slug, capfirst(evidence.work_phrase(slug))) for slug in WORK_CLASSES
        ],
        "hypervisors": dict.fromkeys((*listed_hypervisors(viewer), hypervisor)),
        "hypervisor": hypervisor,
        "machines": [(found.slug, found.title) for found in visible_machines(viewer)],
        "chosen_machine": machine,
        "is_example": not any(request.GET.getlist("work")),
    }


EXAMPLE_QUERY = (
    "?hypervisor=Xen&work=disk-sequential-read&share=70&work=cpu-integer&share=30"
)
urlpatterns = [
    page(
        "mix/",
        show_mix,
        "mix",
        example_urls=("", EXAMPLE_QUERY),
        query_count_urls=("/mix/", f"/mix/{EXAMPLE_QUERY}"),
    ),
    page("mix.<slug:form>", export_mix, "mix-file", kind="file"),
]
