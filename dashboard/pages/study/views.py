"""The page of one study."""

from collections import Counter
from math import expm1
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy

from benchmarks.analysis.publishing import Assessment
from benchmarks.comparing.profile import study_profile
from benchmarks.evidence.replication import (
    Finding,
    Outcome,
    Replicated,
    Replication,
    reproduced_by,
    study_replications,
)
from benchmarks.models import Study, Version
from benchmarks.publishing.publications import visible_publications
from benchmarks.publishing.versions import study_assessment, unfinished_publishing_job
from benchmarks.studies.data_versions import study_version
from benchmarks.studies.lists import is_left_waiting, processing_of, study_detail
from benchmarks.together.comments import Thing
from benchmarks.unattended.lists import trouble_of, work_of
from benchmarks.unattended.queue import retry
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.exports.citation import bibtex, citation_of, dataset_script
from dashboard.kit import figures
from dashboard.kit.addresses import STUDY
from dashboard.kit.comments import comment_thread
from dashboard.kit.document import Section
from dashboard.kit.kept import Content, kept, kept_study_page
from dashboard.kit.profile import profile_section
from dashboard.kit.routes import Tab, action, page
from dashboard.kit.viewers import keeps, kept_study_or_404, study_or_404, viewer_of
from dashboard.wording import evidence, system_names
from dashboard.wording.evidence import metric_name, outcome_name

# As the table shows them.
ORDER: tuple[Outcome, ...] = ("contradicted", "confirmed", "undecided", "single_runs")
MOST_LINES = 40
MOST_REPLIES = 5


@kept
def study_summary(viewer: Viewer, study: Study) -> tuple[Section, Assessment]:
    """Return the overhead profile of a study, and what it may be published as."""
    profile = profile_section(study_profile(viewer, study), is_folded=True)
    return profile, study_assessment(study)


@kept_study_page
def show_study(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show a study: what it measured on what, and how far its runs are."""
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    # Cached by itself: it needs all cells, and the page changes with other studies.
    profile, assessment = study_summary(study_version(study), viewer, study)
    may_keep = keeps(request, study.lab_id)
    detail = study_detail(study)
    # A run that is still to be read may be the first of its system.
    systems = (*detail.systems, *(run.system for run in detail.trouble))
    # Errors may quote what a stranger may not see.
    is_member = study.lab_id in viewer.lab_ids
    citation = citation_of(request, study)
    context = {
        "study": study,
        "detail": detail,
        "failed": trouble_of(study) if is_member else (),
        "names": system_names(systems),
        "profile": profile,
        "assessment": assessment.reproduced(reproduced_by(study)),
        "replications": _replications(study_replications(viewer, study)),
        "versions": visible_publications(Version, viewer).filter(study=study),
        "citation": bibtex(citation),
        "address": citation.address,
        # Nothing of a private study is meant for search engines.
        "dataset": dataset_script(citation, study) if study.is_public else "",
        "thread": comment_thread(request, Thing(study)),
        "may_keep": may_keep,
        "job": unfinished_publishing_job(study) if may_keep else None,
    }
    return Content("study/study.html", context)


def show_processing(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Show how far a study's uploads are; pages ask for it until all is done."""
    study = study_or_404(viewer_of(request), lab, slug)
    context = {
        "study": study,
        "tally": processing_of(study),
        "is_left": is_left_waiting(study),
        "is_asked_again": True,
    }
    return render(request, "study/_processing_live.html", context)


def try_again(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Let what failed of a study in the background be tried again."""
    study = kept_study_or_404(request, lab, slug)
    retry(work_of(study))
    return redirect("dashboard:study", lab, slug)


def _replications(replicated: Replicated) -> dict[str, Any]:
    """Return what other labs found on a study's findings, contradictions first."""
    found = sorted(replicated.found, key=lambda it: ORDER.index(it.outcome))
    counts = Counter(it.outcome for it in found)
    return {
        "lines": [_line(it, replicated) for it in found[:MOST_LINES]],
        "counts": [(counts[it], outcome_name(it)) for it in ORDER if counts[it]],
        "more": max(len(found) - MOST_LINES, 0),
    }


def _line(found: Replication, replicated: Replicated) -> dict[str, Any]:
    own = found.own
    replies = []
    for reply in sorted(found.replies, key=lambda it: ORDER.index(it.outcome)):
        study = replicated.studies[int(str(reply.finding.study))]
        replies.append(
            {
                **_finding(reply.finding, reply.outcome),
                "lab": reply.finding.lab,
                "study": study.slug,
                "address": reverse(
                    "dashboard:study", args=[study.lab.slug, study.slug]
                ),
            }
        )
    return {
        **_finding(own, found.outcome),
        "benchmark": metric_name(*own.benchmark),
        "hypervisor": own.hypervisor,
        "replies": replies[:MOST_REPLIES],
        "more": max(len(replies) - MOST_REPLIES, 0),
        "between": _percent(found.between),
        "within": _percent(found.within),
    }


def _finding(finding: Finding, outcome: Outcome) -> dict[str, Any]:
    return {
        "ratio": evidence.ratio_text(finding.log_ratio, finding.interval),
        "interval": evidence.ends_text(finding.interval),
        "outcome": outcome,
        "word": outcome_name(outcome),
    }


def _percent(sd: float | None) -> str:
    """Return a standard deviation of ln ratios as a percentage of the ratio."""
    return wording.NONE if sd is None else figures.percent(expm1(sd), ".2g")


urlpatterns = [
    page(STUDY, show_study, "study", tab=Tab(gettext_lazy("Summary"), 0)),
    action(f"{STUDY}retry/", try_again, "retry-study"),
    page(f"{STUDY}processing/", show_processing, "processing", kind="part"),
]
