"""The matrix of evidence, and all that is known of one question."""

from collections.abc import Iterable, Mapping
from typing import Final

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks.analysis.verdicts import RULE_SET
from benchmarks.evidence.reading import (
    Question,
    evidence_matrix,
    evidence_origins,
    evidence_parts,
)
from benchmarks.evidence.records import question_record, study_records
from benchmarks.evidence.synthesis import synthesis
from benchmarks.platforms import canonical_hypervisor
from benchmarks.publishing.versions import latest_versions
from benchmarks.viewer import ANYONE
from benchmarks.work_classes import WORK_CLASSES
from dashboard.exports.evidence import (
    EVIDENCE_FORMS,
    EvidenceSource,
    file_name,
    question_name,
)
from dashboard.exports.pictures import (
    PICTURE_FORMS,
    attached,
    drawn_of,
    picture_answer,
)
from dashboard.kit.addresses import address
from dashboard.kit.embedding import badge, embeddable, embedded, snippets
from dashboard.kit.evidence_matrix import matrix_of
from dashboard.kit.kept import Content, kept_page
from dashboard.kit.routes import page, route
from dashboard.kit.viewers import person_of, query_of, viewer_of
from dashboard.pages.evidence.forest import forest_page
from dashboard.wording.evidence import badge_text, work_name

NAMES: Final = {
    "csv": "CSV",
    "json": "JSON",
    "tex": "LaTeX",
    "md": "Markdown",
    "svg": "SVG",
    "pdf": "PDF",
    "png": "PNG",
}


@kept_page
def show_evidence(request: HttpRequest) -> Content:
    with_flagged = query_of(request).get("flagged") == "with"
    found = evidence_matrix(viewer_of(request), with_flagged=with_flagged)
    matrix = matrix_of(found, with_flagged=with_flagged)
    context = {"matrix": matrix, "files": _files("evidence-file", EVIDENCE_FORMS)}
    return Content("evidence/evidence.html", context)


@kept_page
def show_forest(request: HttpRequest) -> Content:
    query = query_of(request)
    question = _question(query)
    parts = evidence_parts(viewer_of(request), question)
    page = forest_page(question, parts, query, person_of(request))
    context = {
        "page": page,
        "files": _files("forest-file", EVIDENCE_FORMS),
        "pictures": _files("forest-file", PICTURE_FORMS) if page["units"] else (),
        "snippets": _snippets(request, question, query),
    }
    return Content("evidence/forest.html", context)


def _snippets(
    request: HttpRequest, question: Question, query: Mapping[str, str]
) -> list[tuple[str, str, str]]:
    chosen = {"hypervisor": question.hypervisor, "work": question.work}
    with_flagged = {"flagged": query["flagged"]} if query.get("flagged") else {}
    asked = address({**chosen, **with_flagged})
    return snippets(
        request,
        reverse("dashboard:embed-forest") + asked,
        f"{question.hypervisor}, {work_name(question.work)}",
        reverse("dashboard:forest") + asked,
        reverse("dashboard:forest-badge") + asked,
    )


@embeddable
def embed_forest(request: HttpRequest) -> Content:
    query = query_of(request)
    question = _question(query)
    page = forest_page(question, evidence_parts(ANYONE, question), query)
    drawing = page["drawing"]
    return embedded(
        request,
        drawing.figure if drawing else None,
        f"{question.hypervisor}, {page['work']}",
        drawing.title if drawing else "",
        reverse("dashboard:forest") + address(query, theme=""),
    )


@embeddable
def forest_badge(request: HttpRequest) -> Content:
    query = query_of(request)
    question = _question(query)
    with_flagged = query.get("flagged") == "with"
    found = evidence_parts(ANYONE, question)
    whole = synthesis([each.part for each in found], with_flagged=with_flagged)
    label = f"{question.hypervisor}, {work_name(question.work)}"
    return badge(label, badge_text(whole))


def export_evidence(request: HttpRequest, form: str) -> HttpResponse:
    if form not in EVIDENCE_FORMS:
        raise Http404(_("There is no such form."))
    return _evidence_file(request, form, None)


def export_forest(request: HttpRequest, form: str) -> HttpResponse:
    query, viewer = query_of(request), viewer_of(request)
    question, with_flagged = _question(query), query.get("flagged") == "with"
    if form in EVIDENCE_FORMS:
        return _evidence_file(request, form, question)
    if form not in PICTURE_FORMS:
        raise Http404(_("There is no such form."))
    parts = evidence_parts(viewer, question)
    record = question_record(question, parts, with_flagged=with_flagged)
    if not record["units"]:
        raise Http404(_("There is nothing to draw: nothing of this can be pooled."))
    return picture_answer(
        request,
        drawn=drawn_of(record),
        form=form,
        name=file_name(question),
        title=_("Drawing the forest plot"),
        about=f"{question.hypervisor}, {work_name(question.work)}",
        back=f"{reverse('dashboard:forest')}?{request.GET.urlencode()}",
    )


def _question(query: Mapping[str, str]) -> Question:
    work, hypervisor = query.get("work", ""), query.get("hypervisor", "").strip()
    if work not in WORK_CLASSES or not hypervisor:
        raise Http404(_("Name a hypervisor and a class of work."))
    return Question(canonical_hypervisor(hypervisor), work)


def _files(address: str, forms: Iterable[str]) -> list[tuple[str, str, str]]:
    return [
        (reverse(f"dashboard:{address}", args=[form]), form, NAMES[form])
        for form in forms
    ]


def _evidence_file(
    request: HttpRequest, form: str, question: Question | None
) -> HttpResponse:
    """Return the file of a question, or of all questions."""
    viewer, query = viewer_of(request), request.GET.urlencode()
    with_flagged = query_of(request).get("flagged") == "with"
    found = evidence_origins(viewer, None if question is None else [question])
    if question is not None:
        found.setdefault(question, [])
    works = list(WORK_CLASSES)
    records = [
        question_record(question, found[question], with_flagged=with_flagged)
        for question in sorted(
            found, key=lambda asked: (asked.hypervisor, works.index(asked.work))
        )
    ]
    studies = {each.study.pk for parts in found.values() for each in parts}
    versions = latest_versions(viewer, studies)
    name, title = "evidence", _("What all studies together say")
    page = reverse("dashboard:evidence")
    if question is not None:
        name, title = file_name(question), question_name(records[0])
        page = reverse("dashboard:forest")
    source = EvidenceSource(
        title=title,
        name=name,
        address=request.build_absolute_uri(f"{page}?{query}" if query else page),
        made_on=timezone.now().date().isoformat(),
        rule_set=RULE_SET,
        with_flagged=with_flagged,
    )
    text = EVIDENCE_FORMS[form](records, study_records(found, versions), source)
    return attached(name, form, text)


EXAMPLE = "?hypervisor=Xen&work=disk-sequential-read"
urlpatterns = [
    page(
        "evidence/",
        show_evidence,
        "evidence",
        walked=("", "?flagged=with"),
        counted=("/evidence/",),
    ),
    page(
        "evidence/forest/",
        show_forest,
        "forest",
        walked=(
            EXAMPLE,
            "?hypervisor=KVM&work=cpu-integer&by=decade&flagged=with",
        ),
        counted=(f"/evidence/forest/{EXAMPLE}",),
    ),
    route("embed/evidence/", embed_forest, "embed-forest", kind="part"),
    route("embed/evidence.svg", forest_badge, "forest-badge", kind="file"),
    page(
        "evidence.<slug:form>",
        export_evidence,
        "evidence-file",
        kind="file",
        counted=tuple(f"/evidence.{form}" for form in EVIDENCE_FORMS),
    ),
    page(
        "evidence/forest.<slug:form>",
        export_forest,
        "forest-file",
        kind="file",
        counted=tuple(f"/evidence/forest.{form}{EXAMPLE}" for form in EVIDENCE_FORMS),
    ),
]
