from collections import Counter
from math import expm1
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy

from benchmarks.analysis.publication_requirements import LevelAssessment
from benchmarks.collaboration.comments import CommentTarget
from benchmarks.comparison.overhead_profile import study_profile
from benchmarks.evidence.replication import (
    BenchmarkEffect,
    Outcome,
    Replication,
    StudyReplications,
    reproduced_by,
    study_replications,
)
from benchmarks.jobs.failures import failed_jobs_of_study, study_failures
from benchmarks.jobs.queue import retry_failed
from benchmarks.models import Study, Version
from benchmarks.publishing.publications import visible_publications
from benchmarks.publishing.study_level import assess_study
from benchmarks.publishing.versions import unfinished_publishing_job
from benchmarks.studies.data_versions import study_version
from benchmarks.studies.overview import is_stalled, processing_counts, study_detail
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.exports.citation import bibtex, citation_of, dataset_script
from dashboard.kit import formatting
from dashboard.kit.comments import comment_thread
from dashboard.kit.overhead_profile import profile_section
from dashboard.kit.page_cache import PageContent, cached_by_version, cached_study_page
from dashboard.kit.report_elements import ReportSection
from dashboard.kit.routes import EDITORS_ONLY, Tab, action, page
from dashboard.kit.url_parts import STUDY_PATH
from dashboard.kit.viewers import (
    editable_study_or_404,
    is_editor,
    sign_in_required,
    study_or_404,
    viewer_of,
)
from dashboard.pages.study.measure import measure_machine
from dashboard.wording import evidence, system_names
from dashboard.wording.evidence import metric_title, outcome_name

OUTCOME_ORDER: tuple[Outcome, ...] = (
    "contradicted",
    "confirmed",
    "undecided",
    "single_runs",
)
MAX_REPLICATED_FINDINGS = 40
MAX_REPLICATIONS = 5


@cached_by_version
def study_summary(
    viewer: Viewer, study: Study
) -> tuple[ReportSection, LevelAssessment]:
    profile = profile_section(study_profile(viewer, study), is_folded=True)
    return profile, assess_study(study)


@cached_study_page
def show_study(request: HttpRequest, lab: str, slug: str) -> PageContent:
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    # Cache this separately: it is slow, and the page also changes with other studies.
    profile, assessment = study_summary(study_version(study), viewer, study)
    can_edit = is_editor(request, study.lab_id)
    detail = study_detail(study)
    # The detail does not include systems whose first run failed.
    systems = (*detail.systems, *(run.system for run in detail.unread_runs))
    # Only members see error messages, which may quote private output.
    is_member = study.lab_id in viewer.lab_ids
    citation = citation_of(request, study)
    context = {
        "study": study,
        "detail": detail,
        "failed": study_failures(study) if is_member else (),
        "names": system_names(systems),
        "profile": profile,
        "assessment": assessment.with_reproducing_labs(reproduced_by(study)),
        "replications": _replications(study_replications(viewer, study)),
        "versions": visible_publications(Version, viewer).filter(study=study),
        "citation": bibtex(citation),
        "address": citation.url,
        # The metadata for search engines is only for public studies.
        "dataset": dataset_script(citation, study) if study.is_public else "",
        "thread": comment_thread(request, CommentTarget(study)),
        "can_edit": can_edit,
        "job": unfinished_publishing_job(study) if can_edit else None,
    }
    return PageContent("study/study.html", context)


def show_processing(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    study = study_or_404(viewer_of(request), lab, slug)
    context = {
        "study": study,
        "counts": processing_counts(study),
        "is_left": is_stalled(study),
        "is_polling": True,
    }
    return render(request, "study/_processing_live.html", context)


def retry_study(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    study = editable_study_or_404(request, lab, slug)
    retry_failed(failed_jobs_of_study(study))
    return redirect("dashboard:study", lab, slug)


def _replications(replicated: StudyReplications) -> dict[str, Any]:
    replications = sorted(
        replicated.replications,
        key=lambda replication: OUTCOME_ORDER.index(replication.outcome),
    )
    counts = Counter(replication.outcome for replication in replications)
    return {
        "lines": [
            _line(replication, replicated)
            for replication in replications[:MAX_REPLICATED_FINDINGS]
        ],
        "counts": [
            (counts[outcome], outcome_name(outcome))
            for outcome in OUTCOME_ORDER
            if counts[outcome]
        ],
        "more": max(len(replications) - MAX_REPLICATED_FINDINGS, 0),
    }


def _line(replication: Replication, replicated: StudyReplications) -> dict[str, Any]:
    own = replication.effect
    replies = []
    for reply in sorted(
        replication.results, key=lambda result: OUTCOME_ORDER.index(result.outcome)
    ):
        study = replicated.studies[int(str(reply.effect.study))]
        replies.append(
            {
                **_finding(reply.effect, reply.outcome),
                "lab": reply.effect.lab,
                "study": study.slug,
                "address": reverse(
                    "dashboard:study", args=[study.lab.slug, study.slug]
                ),
            }
        )
    return {
        **_finding(own, replication.outcome),
        "benchmark": metric_title(*own.benchmark),
        "hypervisor": own.hypervisor,
        "replies": replies[:MAX_REPLICATIONS],
        "more": max(len(replies) - MAX_REPLICATIONS, 0),
        "between": _percent(replication.between_sd),
        "within": _percent(replication.within_sd),
    }


def _finding(finding: BenchmarkEffect, outcome: Outcome) -> dict[str, Any]:
    return {
        "ratio": evidence.log_ratio_text(finding.log_ratio, finding.interval),
        "interval": evidence.log_interval_text(finding.interval),
        "outcome": outcome,
        "word": outcome_name(outcome),
    }


def _percent(sd: float | None) -> str:
    return wording.DASH if sd is None else formatting.percent(expm1(sd), ".2g")


urlpatterns = [
    page(STUDY_PATH, show_study, "study", tab=Tab(gettext_lazy("Summary"), 0)),
    action(f"{STUDY_PATH}retry/", retry_study, "retry-study"),
    page(
        f"{STUDY_PATH}measure/",
        sign_in_required(measure_machine),
        "measure",
        member_statuses=EDITORS_ONLY,
        anonymous_status=302,
    ),
    page(f"{STUDY_PATH}processing/", show_processing, "processing", kind="part"),
]
