"""All studies, with filters."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest
from django.utils.translation import gettext as _

from benchmarks.comparison.overhead_profile import spectrum
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.hypervisor_names import NATIVE
from benchmarks.studies.overview import StudyCard, study_cards
from dashboard.kit.page_cache import PageContent, cached_fragment, cached_page
from dashboard.kit.routes import page
from dashboard.kit.url_parts import query_string
from dashboard.kit.viewers import edits_any_lab, query_params, viewer_of
from dashboard.pages.studies.ratio_strips import ratio_strips

STUDIES_PER_PAGE = 24
Menu = dict[str, Any]


def is_match(card: StudyCard, query: Mapping[str, str]) -> bool:
    """Whether a study matches the filters; "q" means all of its words."""
    study, rollup = card.study, card.rollup
    if query.get("hypervisor") and query["hypervisor"] not in rollup.hypervisors:
        return False
    if query.get("tool") and query["tool"] not in rollup.tools:
        return False
    if query.get("year") and study.published[:4] != query["year"]:
        return False
    text = " ".join(
        (
            *(study.title, study.author, study.institution, study.published),
            *(study.lab.name, study.slug),
            *rollup.hypervisors,
            *(require_tool(tool).title for tool in rollup.tools),
        )
    ).casefold()
    return all(word in text for word in query.get("q", "").casefold().split())


def filter_menus(cards: Sequence[StudyCard], query: Mapping[str, str]) -> list[Menu]:
    hypervisors = {name for card in cards for name in card.rollup.hypervisors}
    tools = {slug for card in cards for slug in card.rollup.tools}
    years = {card.study.published[:4] for card in cards if card.study.published}
    titles = sorted(
        ((slug, require_tool(slug).title) for slug in tools),
        key=lambda item: item[1].casefold(),
    )
    return [
        _menu(
            *("hypervisor", _("Hypervisor"), _("any")),
            ((name, name) for name in sorted(hypervisors - {NATIVE})),
            query,
        ),
        _menu("tool", _("Tool"), _("any"), titles, query),
        _menu(
            *("year", _("Published"), _("any year")),
            ((year, year) for year in sorted(years, reverse=True)),
            query,
        ),
    ]


def _menu(
    name: str,
    label: str,
    any_label: str,
    choices: Iterable[tuple[str, str]],
    query: Mapping[str, str],
) -> Menu:
    chosen = query.get(name, "")
    return {
        "name": name,
        "label": label,
        "is_changed": bool(chosen),
        "choices": [
            {"value": value, "label": text, "is_chosen": value == chosen}
            for value, text in (("", any_label), *choices)
        ],
    }


@cached_page
def show_studies(request: HttpRequest) -> PageContent:
    query = query_params(request)
    cards = study_cards(viewer_of(request))
    chosen = [card for card in cards if is_match(card, query)]
    shown = Paginator(chosen, STUDIES_PER_PAGE).get_page(query.get("page"))
    ratios = [
        (card.study.pk, str(card.study), card.rollup.bins)
        for card in chosen
        if card.rollup.bins
    ]
    context = {
        "shown": shown,
        "is_empty": not cards,
        "menus": filter_menus(cards, query),
        "text": query.get("q", ""),
        "is_filtered": len(chosen) < len(cards),
        # A system that was measured in two studies counts twice.
        "totals": {
            name: f"{sum(getattr(card.counts, name) for card in chosen):,}"
            for name in ("systems", "runs", "compared_cells")
        },
        "spectrum": cached_fragment(
            request,
            repr(ratios),
            "studies/_spectrum.html",
            lambda: {"strips": ratio_strips(spectrum(chosen))},
        ),
        "can_create": edits_any_lab(request),
        "previous": _page_link(query, shown.number - 1) if shown.has_previous() else "",
        "next": _page_link(query, shown.number + 1) if shown.has_next() else "",
    }
    return PageContent("studies/studies.html", context)


def _page_link(query: Mapping[str, str], number: int) -> str:
    return query_string(query, page=str(number))


urlpatterns = [
    page(
        "studies/",
        show_studies,
        "studies",
        example_urls=("", "?hypervisor=Xen&q=2010", "?q=nothing-is-called-so"),
        query_count_urls=("/studies/",),
    ),
]
