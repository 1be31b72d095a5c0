from html import unescape
from typing import Final
from urllib.parse import urlencode

from django import template
from django.conf import settings
from django.template import RequestContext
from django.urls import reverse
from django.utils.html import format_html, format_html_join, strip_tags
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from benchmarks.collaboration.saved_views import can_be_saved
from benchmarks.models import Study
from dashboard.kit import routes
from dashboard.wording import Text

register = template.Library()

# First part of a URL path -> navigation item.
SECTIONS: Final = {
    **dict.fromkeys(("studies", "runs", "reparses", "flags"), "studies"),
    **dict.fromkeys(("versions", "publishing", "reports", "plans"), "studies"),
    "compare": "cross-study",
    **dict.fromkeys(("evidence", "reviews", "start-up", "density"), "evidence"),
    "settings": "settings",
    **dict.fromkeys(("docs", "glossary"), "docs"),
    "upload": "upload",
    **dict.fromkeys(("labs", "invitations"), "labs"),
}


@register.simple_tag(takes_context=True)
def main_link(
    context: RequestContext, name: str, text: Text, aria_label: Text = ""
) -> SafeString:
    request, url = context.get("request"), reverse(f"dashboard:{name}")
    path = request.path if request else ""
    is_current_page = path == url
    is_current_section = SECTIONS.get(path.strip("/").partition("/")[0]) == name
    # aria-current is "page" for the page itself, "true" for its section.
    return _link(
        url,
        text,
        "page" if is_current_page else "true" if is_current_section else "",
        aria_label,
    )


@register.simple_tag
def study_tab_links(study: Study, current: str) -> SafeString:
    arguments = [study.lab.slug, study.slug]
    return format_html_join(
        "\n",
        "{}",
        (
            (
                _link(
                    reverse(f"dashboard:{name}", args=arguments),
                    tab.title,
                    "page" if name == current else "",
                ),
            )
            for name, tab in routes.study_tabs()
            if not tab.required_attribute
            or name == current
            or getattr(study, tab.required_attribute, False)
        ),
    )


@register.simple_tag(takes_context=True)
def save_view_url(context: RequestContext, title: str = "") -> str:
    """Return where to save this page as a view, or ""; ``title`` is HTML."""
    request = context.get("request")
    if request is None or not request.user.is_authenticated:
        return ""
    if not can_be_saved(request.path):
        return ""
    name = " ".join(unescape(strip_tags(title)).split())
    query = urlencode({"name": name, "path": request.get_full_path()})
    return f"{reverse('dashboard:saved-views')}?{query}"


@register.simple_tag
def language_links() -> SafeString:
    if len(settings.LANGUAGES) == 1:
        return mark_safe("")
    return format_html_join(
        "\n",
        '<a href="{}" lang="{}" rel="nofollow"{}>{}</a>',
        (
            (
                reverse("dashboard:select-language", args=[code]),
                code,
                mark_safe(' aria-current="true"' if code == get_language() else ""),
                name,
            )
            for code, name in settings.LANGUAGES
        ),
    )


def _link(url: str, text: Text, current: str, aria_label: Text = "") -> SafeString:
    current_attribute = mark_safe(f' aria-current="{current}"') if current else ""
    label_attribute = format_html(' aria-label="{}"', aria_label) if aria_label else ""
    return format_html(
        '<a href="{}"{}{}>{}</a>', url, current_attribute, label_attribute, text
    )
