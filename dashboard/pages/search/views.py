from dataclasses import dataclass, field
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from benchmarks.collaboration.search_misses import count_search_miss
from benchmarks.labs.sign_in_throttle import network_of
from benchmarks.models import SearchMiss
from benchmarks.search import (
    SearchResults,
    corrected_query,
    entered_words,
    matching_texts,
    search_results,
)
from benchmarks.viewer import Viewer
from dashboard.kit.documents import SearchHit, search_documents
from dashboard.kit.routes import EDITORS_ONLY, member_page, page
from dashboard.kit.viewers import edits_any_lab, query_params, viewer_of
from dashboard.pages.search.topics import Topic, topics, work_topics
from dashboard.wording import Text

MAX_QUERY_CHARACTERS: Final = 200
MAX_TOPICS: Final = 12
MAX_DOCUMENTS: Final = 6
MAX_MISSES: Final = 200
TOPIC_KINDS: Final[dict[str, Text]] = {
    "question": _("Questions"),
    "work": _("Work"),
    "hypervisor": _("Hypervisors"),
    "machine": _("Machines"),
    "setting": _("Settings of systems"),
    "term": _("Terms"),
    "page": _("Pages"),
}
EXAMPLES: Final = (
    *("application-database", "application-web", "application-build"),
    *("disk-random-write", "network-throughput-in", "cpu-floating-point"),
)


@dataclass(frozen=True)
class Found:
    topics: dict[Text, list[Topic]] = field(default_factory=dict)
    objects: SearchResults | None = None
    documents: list[SearchHit] = field(default_factory=list)

    @property
    def count(self) -> int:
        subjects = sum(map(len, self.topics.values()))
        stored = self.objects.count if self.objects else 0
        return subjects + stored + len(self.documents)


def matching_topics(
    candidates: list[Topic], words: list[str], *, any_word: bool = False
) -> dict[Text, list[Topic]]:
    places = matching_texts(
        words,
        [topic.title for topic in candidates],
        [f"{topic.detail} {topic.keywords}" for topic in candidates],
        most=MAX_TOPICS,
        any_word=any_word,
    )
    matches = [candidates[place] for place in places]
    groups = {
        title: [topic for topic in matches if topic.kind == kind]
        for kind, title in TOPIC_KINDS.items()
    }
    return {title: members for title, members in groups.items() if members}


def find(viewer: Viewer, text: str, candidates: list[Topic]) -> Found:
    words = entered_words(text)
    return Found(
        matching_topics(candidates, words),
        search_results(viewer, text),
        search_documents(" ".join(words), MAX_DOCUMENTS),
    )


def find_partial(text: str, candidates: list[Topic]) -> Found:
    words = entered_words(text)
    documents = search_documents(" or ".join(words), MAX_DOCUMENTS)
    return Found(matching_topics(candidates, words, any_word=True), documents=documents)


def show_search(request: HttpRequest) -> HttpResponse:
    text = query_params(request).get("q", "").strip()[:MAX_QUERY_CHARACTERS]
    viewer = viewer_of(request)
    context: dict[str, Any] = {
        "text": text,
        "examples": list(work_topics(EXAMPLES)),
        "is_editor": edits_any_lab(request),
    }
    if entered_words(text):
        candidates = topics(viewer)
        found = find(viewer, text, candidates)
        context["found"] = found
        if not found.count:
            network = network_of(request.META.get("REMOTE_ADDR", ""))
            count_search_miss(viewer, text, network)
            known_texts = [f"{topic.title} {topic.keywords}" for topic in candidates]
            context["nearest"] = corrected_query(viewer, text, known_texts)
            context["partial"] = find_partial(text, candidates)
    return render(request, "search/search.html", context)


def show_misses(request: HttpRequest) -> HttpResponse:
    if not edits_any_lab(request):
        raise Http404(_("Only maintainers and admins can see this page."))
    misses = SearchMiss.objects.order_by("-count", "-last_at", "words")[:MAX_MISSES]
    return render(request, "search/misses.html", {"misses": misses})


urlpatterns = [
    page(
        "search/",
        show_search,
        "search",
        example_urls=("?q=xen", "?q=nothing-is-called-so", ""),
        query_count_urls=("/search/?q=xen",),
    ),
    member_page(
        "search/misses/",
        show_misses,
        "search-misses",
        member_statuses=EDITORS_ONLY,
    ),
]
