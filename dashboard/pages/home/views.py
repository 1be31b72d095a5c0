from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.views.decorators.vary import vary_on_headers

from benchmarks.collaboration.saved_views import visible_views
from benchmarks.evidence.queries import Question, evidence_matrix
from benchmarks.evidence.subjects import (
    compared_machines,
    find_machine,
    machine_averages,
    machine_syntheses,
)
from benchmarks.evidence.synthesis import Synthesis
from benchmarks.models import Run
from benchmarks.studies.lookup import list_studies
from benchmarks.studies.overview import StudyCard, study_cards
from benchmarks.studies.study_rollups import visible_tour_examples
from benchmarks.viewer import Viewer
from dashboard.kit.evidence_matrix import matrix_context
from dashboard.kit.page_cache import PageContent, cached_fragment, cached_page
from dashboard.kit.routes import page
from dashboard.kit.viewers import (
    edits_any_lab,
    query_params,
    signed_in_user,
    viewer_of,
)
from dashboard.pages.home.answer import answer_context
from dashboard.pages.home.tour import tour_links

NEW_STUDIES, OWN_STUDIES, LAST_UPLOADS = 6, 6, 5


def own_work(viewer: Viewer, person: User) -> dict[str, Any]:
    newest = list_studies(viewer).filter(lab__in=viewer.lab_ids, deleted_at=None)
    ids = list(newest.values_list("pk", flat=True)[:OWN_STUDIES])
    runs = Run.objects.filter(lab__in=viewer.lab_ids).order_by("-pk")
    cards = study_cards(viewer, pk__in=ids) if ids else []
    return {
        "cards": cards,
        "runs": runs.select_related("study__lab", "system__host")[:LAST_UPLOADS],
        "attention": _needing_attention(cards),
        "views": visible_views(viewer, person),
    }


def _needing_attention(cards: Sequence[StudyCard]) -> list[StudyCard]:
    return [
        card
        for card in cards
        if card.counts.open_flags
        or card.counts.rejected_runs
        or card.counts.quarantined_runs
        or card.counts.failed_jobs
    ]


def _answer(
    request: HttpRequest, viewer: Viewer, evidence: Mapping[Question, Synthesis]
) -> dict[str, Any]:
    def evidence_of_machine(
        slug: str, questions: Sequence[Question]
    ) -> Mapping[Question, Synthesis]:
        machine = find_machine(viewer, slug)
        if machine is None:
            return {}
        return machine_syntheses(machine_averages(viewer, machine, questions))

    query = query_params(request)
    return answer_context(
        evidence,
        query.get("work", ""),
        request.GET.getlist("hypervisor"),
        machine=query.get("machine", ""),
        machines=compared_machines(viewer),
        evidence_of_machine=evidence_of_machine,
    )


@vary_on_headers("HX-Request", "HX-Target")
@cached_page
def show_home(request: HttpRequest) -> PageContent:
    viewer, person = viewer_of(request), signed_in_user(request)
    evidence = evidence_matrix(viewer)
    answer = _answer(request, viewer, evidence)
    if request.headers.get("HX-Target") == "answer":
        return PageContent("kit/_answer.html", {"answer": answer})
    studies = list_studies(viewer).filter(deleted_at=None, archived_at=None)
    newest = studies.order_by("-created_at", "-pk").values_list("pk", flat=True)
    ids = list(newest[:NEW_STUDIES])
    context = {
        "answer": answer,
        "cards": study_cards(viewer, pk__in=ids) if ids else [],
        "study_count": studies.count(),
        "matrix": cached_fragment(
            request,
            repr(evidence),
            "home/_matrix.html",
            lambda: {"matrix": matrix_context(evidence)},
            is_same_for_all_urls=True,
        ),
        "own": own_work(viewer, person) if person else None,
        "can_create": edits_any_lab(request),
        "links": tour_links(visible_tour_examples(viewer)),
    }
    return PageContent("home/home.html", context)


urlpatterns = [
    page(
        "",
        show_home,
        "home",
        example_urls=(
            "",
            "?work=disk-random-write&hypervisor=Xen&hypervisor=KVM",
            "?work=memory-read&machine=lmu-athlon64-x2-4800",
        ),
        query_count_urls=("/", "/?machine=lmu-athlon64-x2-4800"),
    ),
]
