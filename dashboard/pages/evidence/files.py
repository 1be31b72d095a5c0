"""What the pages of evidence say, as files."""

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks.analysis.verdicts import RULE_SET
from benchmarks.evidence.reading import Found, Question, evidence_origins
from benchmarks.evidence.records import Record, question_record, study_records
from benchmarks.publishing.versions import latest_versions
from benchmarks.viewer import Viewer
from benchmarks.work_classes import WORK_CLASSES
from dashboard.exports.evidence import (
    EVIDENCE_FORMS,
    EvidenceSource,
    file_name,
    question_name,
)

WORKS = list(WORK_CLASSES)


def evidence_file(
    request: HttpRequest,
    viewer: Viewer,
    form: str,
    *,
    question: Question | None,
    with_flagged: bool,
) -> tuple[str, str]:
    asked = None if question is None else [question]
    found = evidence_origins(viewer, asked)
    if question is not None:
        found.setdefault(question, [])
    records = records_of(found, with_flagged=with_flagged)
    studies = {each.study.pk for parts in found.values() for each in parts}
    versions = latest_versions(viewer, studies)
    page = reverse("dashboard:evidence" if question is None else "dashboard:forest")
    query = request.GET.urlencode()
    name = "evidence" if question is None else file_name(question)
    source = EvidenceSource(
        title=_("What all studies together say")
        if question is None
        else question_name(records[0]),
        name=name,
        address=request.build_absolute_uri(f"{page}?{query}" if query else page),
        made_on=timezone.now().date().isoformat(),
        rule_set=RULE_SET,
        with_flagged=with_flagged,
    )
    text = EVIDENCE_FORMS[form](records, study_records(found, versions), source)
    return name, text


def records_of(
    found: dict[Question, list[Found]], *, with_flagged: bool
) -> list[Record]:
    return [
        question_record(question, found[question], with_flagged=with_flagged)
        for question in sorted(
            found, key=lambda it: (it.hypervisor, WORKS.index(it.work))
        )
    ]
