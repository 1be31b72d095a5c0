from collections.abc import Iterable, Mapping
from typing import Final

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks.analysis.verdicts import RULE_SET
from benchmarks.evidence.json_records import question_record, study_records
from benchmarks.evidence.queries import (
    Question,
    StudyAverage,
    evidence_matrix,
    study_averages,
    study_averages_by_question,
)
from benchmarks.evidence.subjects import (
    find_machine,
    machine_averages,
    measured_studies,
)
from benchmarks.evidence.synthesis import synthesis
from benchmarks.hypervisor_names import canonical_hypervisor
from benchmarks.publishing.versions import latest_versions
from benchmarks.viewer import ANYONE, Viewer
from benchmarks.work_classes import WORK_CLASSES
from dashboard.exports.chart_files import (
    CHART_FILE_FORMATS,
    attachment_response,
    chart_file_response,
    forest_plot_data,
)
from dashboard.exports.evidence_files import (
    EVIDENCE_FORMATS,
    EvidenceSource,
    evidence_file_name,
    question_name,
)
from dashboard.kit.embeds import badge, embed_snippets, embeddable, embedded_chart
from dashboard.kit.evidence_matrix import matrix_context
from dashboard.kit.page_cache import PageContent, cached_page
from dashboard.kit.routes import page, route
from dashboard.kit.study_sources import study_sources
from dashboard.kit.url_parts import query_string
from dashboard.kit.viewers import query_params, signed_in_user, viewer_of
from dashboard.pages.evidence.question_page import question_page
from dashboard.wording.evidence import badge_text, work_name

FORMAT_NAMES: Final = {
    "csv": "CSV",
    "json": "JSON",
    "tex": "LaTeX",
    "md": "Markdown",
    "svg": "SVG",
    "pdf": "PDF",
    "png": "PNG",
}


@cached_page
def show_evidence(request: HttpRequest) -> PageContent:
    without_doubtful = query_params(request).get("doubtful") == "exclude"
    viewer = viewer_of(request)
    evidence = evidence_matrix(viewer, without_doubtful=without_doubtful)
    context = {
        "matrix": matrix_context(evidence, without_doubtful=without_doubtful),
        "files": _files("evidence-file", EVIDENCE_FORMATS),
        "sources": study_sources(measured_studies(viewer)),
    }
    return PageContent("evidence/evidence.html", context)


@cached_page
def show_question(request: HttpRequest) -> PageContent:
    query = query_params(request)
    question = _question(query)
    averages = study_averages(viewer_of(request), question)
    page = question_page(question, averages, query, signed_in_user(request))
    context = {
        "page": page,
        "files": _files("evidence-question-file", EVIDENCE_FORMATS),
        "pictures": _files("evidence-question-file", CHART_FILE_FORMATS)
        if page["units"]
        else (),
        "snippets": _snippets(request, question, query),
    }
    return PageContent("evidence/question.html", context)


def _snippets(
    request: HttpRequest, question: Question, query: Mapping[str, str]
) -> list[tuple[str, str, str]]:
    chosen = {"hypervisor": question.hypervisor, "work": question.work_class}
    without_doubtful = {"doubtful": query["doubtful"]} if query.get("doubtful") else {}
    url_query = query_string({**chosen, **without_doubtful})
    return embed_snippets(
        request,
        reverse("dashboard:embed-evidence") + url_query,
        f"{question.hypervisor}, {work_name(question.work_class)}",
        reverse("dashboard:evidence-question") + url_query,
        reverse("dashboard:evidence-badge") + url_query,
    )


@embeddable
def embed_question(request: HttpRequest) -> PageContent:
    query = query_params(request)
    question = _question(query)
    page = question_page(question, study_averages(ANYONE, question), query)
    chart_section = page["chart"]
    return embedded_chart(
        request,
        chart_section.chart if chart_section else None,
        f"{question.hypervisor}, {page['work']}",
        chart_section.title if chart_section else "",
        reverse("dashboard:evidence-question") + query_string(query, theme=""),
    )


@embeddable
def question_badge(request: HttpRequest) -> PageContent:
    query = query_params(request)
    question = _question(query)
    without_doubtful = query.get("doubtful") == "exclude"
    averages = study_averages(ANYONE, question)
    pooled = synthesis(
        [average.average for average in averages], without_doubtful=without_doubtful
    )
    label = f"{question.hypervisor}, {work_name(question.work_class)}"
    return badge(label, badge_text(pooled))


def export_evidence(request: HttpRequest, form: str) -> HttpResponse:
    if form not in EVIDENCE_FORMATS:
        raise Http404(_("Unknown file format."))
    return _evidence_file(request, form, None)


def export_question(request: HttpRequest, form: str) -> HttpResponse:
    query, viewer = query_params(request), viewer_of(request)
    question, without_doubtful = _question(query), query.get("doubtful") == "exclude"
    if form in EVIDENCE_FORMATS:
        return _evidence_file(request, form, question)
    if form not in CHART_FILE_FORMATS:
        raise Http404(_("Unknown file format."))
    averages = study_averages(viewer, question)
    record = question_record(question, averages, without_doubtful=without_doubtful)
    if not record["units"]:
        raise Http404(
            _("There is nothing to plot, because none of these results can be pooled.")
        )
    return chart_file_response(
        request,
        chart_data=forest_plot_data(record),
        file_format=form,
        name=evidence_file_name(question),
        title=_("Drawing the forest plot"),
        about=f"{question.hypervisor}, {work_name(question.work_class)}",
        back_url=f"{reverse('dashboard:evidence-question')}?{request.GET.urlencode()}",
    )


def _question(query: Mapping[str, str]) -> Question:
    work, hypervisor = query.get("work", ""), query.get("hypervisor", "").strip()
    if work not in WORK_CLASSES or not hypervisor:
        raise Http404(_("Specify a hypervisor and a work class."))
    return Question(canonical_hypervisor(hypervisor), work)


def _files(route_name: str, forms: Iterable[str]) -> list[tuple[str, str, str]]:
    return [
        (reverse(f"dashboard:{route_name}", args=[form]), form, FORMAT_NAMES[form])
        for form in forms
    ]


def _chosen_averages(
    viewer: Viewer, query: Mapping[str, str]
) -> Mapping[Question, list[StudyAverage]]:
    """Return all results, or those of a hypervisor, of work, or on a machine."""
    if slug := query.get("machine"):
        machine = find_machine(viewer, slug)
        averages = machine_averages(viewer, machine) if machine else {}
    else:
        averages = study_averages_by_question(viewer)
    return {
        question: members
        for question, members in averages.items()
        if query.get("hypervisor") in (None, "", question.hypervisor)
        and query.get("work") in (None, "", question.work_class)
    }


def _evidence_file(
    request: HttpRequest, form: str, question: Question | None
) -> HttpResponse:
    viewer, query = viewer_of(request), request.GET.urlencode()
    choices = query_params(request)
    without_doubtful = choices.get("doubtful") == "exclude"
    if question is None:
        averages = _chosen_averages(viewer, choices)
    else:
        averages = study_averages_by_question(viewer, [question])
        averages.setdefault(question, [])
    works = list(WORK_CLASSES)
    records = [
        question_record(question, averages[question], without_doubtful=without_doubtful)
        for question in sorted(
            averages, key=lambda key: (key.hypervisor, works.index(key.work_class))
        )
    ]
    studies = {average.study.pk for parts in averages.values() for average in parts}
    versions = latest_versions(viewer, studies)
    name, title = "evidence", _("Evidence across all studies")
    page = reverse("dashboard:evidence")
    if question is not None:
        name, title = evidence_file_name(question), question_name(records[0])
        page = reverse("dashboard:evidence-question")
    source = EvidenceSource(
        title=title,
        name=name,
        url=request.build_absolute_uri(f"{page}?{query}" if query else page),
        created_on=timezone.now().date().isoformat(),
        rule_set=RULE_SET,
        without_doubtful=without_doubtful,
    )
    text = EVIDENCE_FORMATS[form](records, study_records(averages, versions), source)
    return attachment_response(name, form, text)


EXAMPLE_QUERY = "?hypervisor=Xen&work=disk-sequential-read"
urlpatterns = [
    page(
        "evidence/",
        show_evidence,
        "evidence",
        example_urls=("", "?doubtful=exclude"),
        query_count_urls=("/evidence/",),
    ),
    page(
        "evidence/question/",
        show_question,
        "evidence-question",
        example_urls=(
            EXAMPLE_QUERY,
            "?hypervisor=KVM&work=cpu-integer&by=decade&doubtful=exclude",
        ),
        query_count_urls=(f"/evidence/question/{EXAMPLE_QUERY}",),
    ),
    route("embed/evidence/", embed_question, "embed-evidence", kind="part"),
    route("embed/evidence.svg", question_badge, "evidence-badge", kind="file"),
    page(
        "evidence.<slug:form>",
        export_evidence,
        "evidence-file",
        kind="file",
        query_count_urls=(
            *(f"/evidence.{form}" for form in EVIDENCE_FORMATS),
            "/evidence.csv?machine=lmu-athlon64-x2-4800",
        ),
    ),
    page(
        "evidence/question.<slug:form>",
        export_question,
        "evidence-question-file",
        kind="file",
        query_count_urls=tuple(
            f"/evidence/question.{form}{EXAMPLE_QUERY}" for form in EVIDENCE_FORMATS
        ),
    ),
]
