"""Charts and badges for other sites, without scripts or cookies.

Other sites may show only these responses in frames.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, cast

from csp.constants import NONE, SELF
from csp.decorators import csp_replace
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.utils.html import escape
from django.utils.translation import gettext as _
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from benchmarks.text_validation import replace_forbidden
from dashboard.charts.chart import Chart
from dashboard.kit.page_cache import PageContent, cached_page

THEMES: Final = ("light", "dark")
MAX_AGE_S: Final = 300
BADGE_CHARACTER_PX: Final = 6.6
"""Assumed width of a character. The text is stretched or squeezed to fit."""
EMBED_CSP: Final = {
    "default-src": [NONE],
    "style-src": [SELF],
    "img-src": [SELF],
    "base-uri": [NONE],
    "form-action": [NONE],
    "frame-ancestors": ["*"],
}

ContentView = Callable[..., PageContent]


def embeddable(view: ContentView) -> Callable[..., HttpResponse]:
    """Return a cached view that sees only public data and that any site may frame."""
    cached_view = cached_page(view)

    @wraps(view)
    def show(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        request.user = AnonymousUser()
        response = cached_view(request, *args, **kwargs)
        if response.content.startswith(b"<svg"):
            response["Content-Type"] = "image/svg+xml; charset=utf-8"
        response["Cache-Control"] = f"public, max-age={MAX_AGE_S}"
        return response

    framable: Any = require_safe(xframe_options_exempt(csp_replace(EMBED_CSP)(show)))
    return cast(Callable[..., HttpResponse], framable)


def embedded_chart(
    request: HttpRequest, chart: Chart | None, title: str, alt: str, source_url: str
) -> PageContent:
    theme = request.GET.get("theme", "")
    context = {
        "title": title,
        "chart": chart,
        "alt": alt,
        "source": request.build_absolute_uri(source_url),
        "theme": theme if theme in THEMES else "",
    }
    return PageContent("kit/embedded_chart.html", context)


def badge(label: str, text: str) -> PageContent:
    label, text = replace_forbidden(label), replace_forbidden(text)
    left, right = (round(len(part) * BADGE_CHARACTER_PX) + 12 for part in (label, text))
    context = {
        "name": f"{label}: {text}",
        "width": left + right,
        "left": left - 3,
        # SVG needs a decimal point in every language.
        "parts": [
            (label, f"{left / 2:g}", left - 12),
            (text, f"{left + right / 2:g}", right - 12),
        ],
    }
    return PageContent("kit/badge.svg", context)


def embed_snippets(
    request: HttpRequest, frame: str, title: str, page: str, image: str = ""
) -> list[tuple[str, str, str]]:
    """Return (slug, title, code) of each snippet for other sites.

    The chart is the page ``frame``; the badge ``image``, if any, links to ``page``.
    """
    absolute_url = request.build_absolute_uri
    html = (
        f'<iframe src="{escape(absolute_url(frame))}" title="{escape(title)}" '
        'width="720" height="480" loading="lazy" '
        'style="border:0;max-width:100%"></iframe>'
    )
    snippets = [("chart", _("Chart (HTML)"), html)]
    if image:
        # Brackets would end the link text in Markdown.
        link_text = title.replace("[", "(").replace("]", ")")
        text = f"[![{link_text}]({absolute_url(image)})]({absolute_url(page)})"
        snippets.append(("badge", _("Badge (Markdown)"), text))
    return snippets
