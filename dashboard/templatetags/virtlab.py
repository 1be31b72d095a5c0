"""Filters and tags of the pages: words, figures, charts; nothing that queries."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import date, datetime
from html import escape
from typing import Any

from django import template
from django.template import RequestContext
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from benchmarks.comparing.table import Fact
from benchmarks.labs.pages import AuditLine
from benchmarks.models import Case, Study, System
from benchmarks.own_tools.lookup import find_tool
from benchmarks.parsing.cases import case_details
from benchmarks.sentences import kept_words
from dashboard import wording
from dashboard.charts import plotly
from dashboard.charts.chart import Chart
from dashboard.charts.sketch import sketch
from dashboard.kit import figures, table_cells
from dashboard.wording import Text, glossary, states, verdicts

register = template.Library()
EXPORT_FORMS = (("csv", "CSV"), ("json", "JSON"), ("tex", "LaTeX"))

FILTERS: dict[str, Callable[..., object]] = {
    "on_screen": plotly.figure,
    "row_figure": table_cells.full_figure,
    "exact": figures.exact,
    "file_size": figures.size,
    "localized": figures.localized,
    "said": wording.said,
    "kept_words": kept_words,
    "ratio": figures.ratio,
    "shade": figures.heat,
    "property_name": wording.property_name,
    "fact_text": wording.fact_text,
    "component_name": wording.component_name,
    "scenario_name": wording.scenario_name,
    "state_name": states.state_name,
    "state_meaning": states.state_meaning,
    "system_name": wording.system_name,
    "runs_text": wording.runs_text,
    "verdict_words": verdicts.verdict_words,
    "interval_text": verdicts.interval_text,
    "verdict_name": verdicts.verdict_name,
    "strength_note": lambda strength: verdicts.strength_notes({strength}),
    "verdict_sign": verdicts.verdict_sign,
    "sign_words": verdicts.sign_words,
    "role_powers": states.role_powers,
    "work_class_name": states.work_class_name,
    "round_name": states.round_name,
    "order_text": states.order_text,
    "budget_text": states.budget_text,
    "in_ms": lambda microseconds: f"{microseconds / 1000:.1f}",
    "share": states.share,
    "join_command": states.join_command,
    "circumstance": lambda name, value: wording.fact_text(Fact(name, str(value))),
    "evidence_of": states.evidence_words,
    "fact_texts": lambda facts: " · ".join(map(wording.fact_text, facts)),
    "in_brief": wording.quantity,
    "in_unit": lambda value, unit: wording.quantity(value, unit, whole=True),
    "in_words": wording.system_name,
    "own_slug": lambda name: name.partition(":")[2],
    "property_of": wording.property_value,
    "words": lambda text: text.split(),
}
# Filters that look up a stored word.
WORDS: dict[str, Mapping[str, Text]] = {
    "better_name": wording.BETTER,
    "change_name": states.CHANGES,
    "clock_name": states.CLOCKS,
    "flag_status_name": states.FLAG_STATUSES,
    "number_kind_name": states.NUMBER_KINDS,
    "origin_name": states.ORIGINS,
    "plan_state_name": states.PLAN_STATES,
    "role_meaning": states.ROLE_MEANINGS,
    "role_name": states.ROLES,
    "severity_name": states.SEVERITIES,
    "status_name": states.STATUSES,
    "step_state_name": states.STEP_STATES,
    "trust_name": states.TRUSTS,
}


def _named(known: Mapping[str, Text]) -> Callable[[str], str]:
    return lambda stored: str(known.get(stored, stored))


for name, function in FILTERS.items():
    register.filter(name, function)
for name, known in WORDS.items():
    register.filter(name, _named(known))


register.simple_tag(wording.emulation_words)


@register.filter
def day_text(at: date) -> SafeString:
    """Return a day, for programs as well."""
    return _time(figures.day_text(at), figures.day_text(at))


@register.filter
def moment_text(at: datetime | None) -> str:
    """Return a day and its time, for programs as well; nothing for None."""
    if at is None:
        return ""
    return _time(at.isoformat(timespec="seconds"), figures.moment_text(at))


@register.filter
def published_time(published: str) -> str:
    """Return when a study was published; for programs too if it is a day or a month."""
    for form in ("%Y-%m-%d", "%Y-%m"):
        with suppress(ValueError):
            datetime.strptime(published, form)  # noqa: DTZ007 (no zone in it)
            return _time(published, published)
    return published


def _time(stamp: str, text: str) -> SafeString:
    return format_html('<time datetime="{}">{}</time>', stamp, text)


@register.filter
def name_in(system: System, names: Mapping[int, str]) -> str:
    """Return what a system is called among the others of its study."""
    return names.get(system.pk) or wording.system_name(system)


@register.filter
def all_said(sentences: Iterable[str], between: str = " ") -> str:
    """Return sentences of the core in a row."""
    return between.join(map(wording.said, sentences))


@register.filter
def links(places: Iterable[tuple[str, str]]) -> SafeString:
    """Return links in a row; ``format_html_join`` would take five times as long."""
    return SafeString(
        " · ".join(f'<a href="{escape(to)}">{escape(name)}</a>' for to, name in places)
    )


@register.filter
def options_text(system: System) -> str:
    """Return a system's options and sizes on one line."""
    stated = {
        **system.options,
        "vcpus": system.vcpus,
        "memory_bytes": system.memory_bytes,
    }
    facts = (Fact(name, str(value)) for name, value in stated.items() if value)
    return " · ".join(map(wording.fact_in_brief, facts))


@register.filter
def audit_text(line: AuditLine) -> str:
    """Return what somebody did, as the rest of a sentence that begins with a name."""
    return str(states.ACTIONS.get(line.kind, line.kind)) % {"about": line.about}


@register.filter
def details(case: Case) -> list[Fact]:
    """Return the parameters that a case's label leaves out."""
    tool = find_tool(case.tool)
    stated = case_details(tool, case.parameters) if tool else case.parameters
    return [Fact(name, str(value)) for name, value in stated.items()]


@register.filter
def tool_title(slug: str) -> str:
    """Return a tool's name; of one that is gone, its slug."""
    tool = find_tool(slug)
    return tool.title if tool else slug or gettext("unknown tool")


@register.filter
def facts_of(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return facts as lines: a name and a text each."""
    order = list(wording.FACTS)
    known = [name for name in order if name in facts]
    names = [*known, *sorted(set(facts).difference(order))]
    return [wording.stated_fact(wording.fact_name(it), facts[it]) for it in names]


@register.filter
def levels(stated: Any) -> list[str]:
    """Return the levels of a factor, which may be one text or a list of them."""
    several = stated if isinstance(stated, list) else [stated]
    return [wording.stated_text(level) for level in several]


@register.simple_tag
def separators() -> str:
    """Return the page's decimal sign and thousands sign, for the charts."""
    return figures.locale().separators


@register.simple_tag
def heat_legend(show: str) -> list[tuple[str, str]]:
    """Return the steps of the scale, slowest first, in the numbers of the cells."""
    return verdicts.legend(show)


@register.filter
def picture(chart: Chart, alt: str) -> SafeString:
    """Return a chart as SVG, for pages without script."""
    return mark_safe(sketch(chart, alt))  # which escapes every text


@register.inclusion_tag("kit/_export.html", takes_context=True)
def export_links(context: RequestContext, study: Study) -> dict[str, Any]:
    """Offer the comparison of the present query in every form."""
    place = [study.lab.slug, study.slug]
    return {
        "files": [
            (reverse("dashboard:export", args=[*place, form]), form, name)
            for form, name in EXPORT_FORMS
        ],
        "paper": reverse("dashboard:paper", args=place),
        "query": context.request.GET.urlencode(),
    }


@register.inclusion_tag("kit/_word.html")
def word(slug: str, place: str, shown: Text = "") -> dict[str, object]:
    """Show a word as a button that explains it; ``place`` keeps ids on a page apart."""
    known = glossary.WORDS[slug]
    return {"word": known, "id": f"word-{slug}-{place}", "shown": shown}
