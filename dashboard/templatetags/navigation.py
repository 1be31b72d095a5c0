"""Where a reader is: the sections of the site and the tabs of a study."""

from typing import Final

from django import template
from django.template import RequestContext
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from benchmarks.models import Study
from benchmarks.together.saved_views import can_be_saved
from dashboard.kit import routes
from dashboard.wording import Text

register = template.Library()

# The first part of an address -> the item of the main navigation it belongs to.
SECTIONS: Final = {
    **dict.fromkeys(("", "studies", "runs", "rereads", "flags"), "overview"),
    **dict.fromkeys(("versions", "publishing", "reports", "plans"), "overview"),
    "compare": "across",
    **dict.fromkeys(("evidence", "reviews"), "evidence"),
    **dict.fromkeys(("docs", "glossary"), "docs"),
    "upload": "upload",
    **dict.fromkeys(("labs", "invitations"), "labs"),
}


@register.simple_tag(takes_context=True)
def main_link(
    context: RequestContext, name: str, text: Text, heard: Text = ""
) -> SafeString:
    """Return a link of the main navigation; ``heard`` is its accessible name."""
    request, address = context.get("request"), reverse(f"dashboard:{name}")
    path = request.path if request else ""
    is_here = path == address
    is_within = SECTIONS.get(path.strip("/").partition("/")[0]) == name
    # "page" is the page itself; of the section around it ARIA says "true".
    return _link(
        address, text, "page" if is_here else "true" if is_within else "", heard
    )


@register.simple_tag
def study_tabs(study: Study, chosen: str) -> SafeString:
    """Return the tabs of a study's pages; the chosen one is always shown."""
    place = [study.lab.slug, study.slug]
    return format_html_join(
        "\n",
        "{}",
        (
            (
                _link(
                    reverse(f"dashboard:{name}", args=place),
                    tab.title,
                    "page" if name == chosen else "",
                ),
            )
            for name, tab in routes.study_tabs()
            if not tab.needs or name == chosen or getattr(study, tab.needs, False)
        ),
    )


@register.simple_tag(takes_context=True)
def may_save_view(context: RequestContext) -> bool:
    """Return whether the page is one that is saved with its choice."""
    request = context.get("request")
    return request is not None and can_be_saved(request.path)


def _link(address: str, text: Text, current: str, heard: Text = "") -> SafeString:
    mark = mark_safe(f' aria-current="{current}"') if current else ""
    name = format_html(' aria-label="{}"', heard) if heard else ""
    return format_html('<a href="{}"{}{}>{}</a>', address, mark, name, text)
