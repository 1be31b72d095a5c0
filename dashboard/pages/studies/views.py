from collections.abc import Mapping, Sequence

from django.core.paginator import Paginator
from django.http import HttpRequest
from django.utils.translation import gettext as _

from benchmarks.comparison.overhead_profile import spectrum
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.hypervisor_names import NATIVE
from benchmarks.studies.overview import StudyCard, study_cards, system_count
from dashboard.kit.comparison_form import FilterMenu, filter_menu
from dashboard.kit.page_cache import PageContent, cached_fragment, cached_page
from dashboard.kit.routes import page
from dashboard.kit.url_parts import query_string
from dashboard.kit.viewers import edits_any_lab, query_params, viewer_of
from dashboard.pages.studies.ratio_strips import ratio_strips

STUDIES_PER_PAGE = 24


def is_match(card: StudyCard, query: Mapping[str, str]) -> bool:
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


def filter_menus(
    cards: Sequence[StudyCard], query: Mapping[str, str]
) -> list[FilterMenu]:
    hypervisors = {name for card in cards for name in card.rollup.hypervisors} - {
        NATIVE
    }
    tools = {slug for card in cards for slug in card.rollup.tools}
    years = {card.study.published[:4] for card in cards if card.study.published}
    titles = sorted((require_tool(slug).title, slug) for slug in tools)
    options = (
        ("hypervisor", _("Hypervisor"), {name: name for name in sorted(hypervisors)}),
        ("tool", _("Tool"), {slug: title for title, slug in titles}),
        ("year", _("Published"), {year: year for year in sorted(years, reverse=True)}),
    )
    return [
        filter_menu(query.get(name, ""), name, label, {"": _("All")} | texts)
        for name, label, texts in options
    ]


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
        "totals": {
            name: f"{sum(getattr(card.counts, name) for card in chosen):,}"
            for name in ("runs", "compared_cells")
        }
        | {"systems": f"{system_count(card.study.pk for card in chosen):,}"},
        "spectrum": cached_fragment(
            request,
            repr(ratios),
            "studies/_spectrum.html",
            lambda: {"strips": ratio_strips(spectrum(chosen))},
        ),
        "can_create": edits_any_lab(request),
        "previous": shown.has_previous()
        and query_string(query, page=str(shown.number - 1)),
        "next": shown.has_next() and query_string(query, page=str(shown.number + 1)),
    }
    return PageContent("studies/studies.html", context)


urlpatterns = [
    page(
        "studies/",
        show_studies,
        "studies",
        example_urls=("", "?hypervisor=Xen&q=2010", "?q=nothing-is-called-so"),
        query_count_urls=("/studies/",),
    ),
]
