"""Charts and badges for other sites: public data, without scripts or cookies.

Only these responses may be framed, and they ignore who is signed in.
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

from dashboard.charts.chart import Chart
from dashboard.kit.kept import Content, kept_page

THEMES: Final = ("light", "dark")
MAX_AGE_S: Final = 300
LETTER_PX: Final = 6.6
"""How wide a letter of a badge is reckoned: its text is fitted into that."""
POLICY: Final = {
    "default-src": [NONE],
    "style-src": [SELF],
    "img-src": [SELF],
    "base-uri": [NONE],
    "form-action": [NONE],
    "frame-ancestors": ["*"],
}

View = Callable[..., Content]


def embeddable(view: View) -> Callable[..., HttpResponse]:
    """Answer as for an anonymous user, and let any site frame the response."""

    kept = kept_page(view)

    @wraps(view)
    def show(request: HttpRequest, *args: Any, **named: Any) -> HttpResponse:
        # Before anything asks the session: a cookie that came along says nothing here.
        request.user = AnonymousUser()
        answer = kept(request, *args, **named)
        if answer.content.startswith(b"<svg"):
            answer["Content-Type"] = "image/svg+xml; charset=utf-8"
        answer["Cache-Control"] = f"public, max-age={MAX_AGE_S}"
        return answer

    framed: Any = require_safe(xframe_options_exempt(csp_replace(POLICY)(show)))
    return cast(Callable[..., HttpResponse], framed)


def embedded(
    request: HttpRequest, chart: Chart | None, title: str, alt: str, source: str
) -> Content:
    """Return a chart as a page for a frame, with a link to its source."""
    theme = request.GET.get("theme", "")
    context = {
        "title": title,
        "chart": chart,
        "alt": alt,
        # Read by whoever follows it, elsewhere: whole.
        "source": request.build_absolute_uri(source),
        "theme": theme if theme in THEMES else "",
    }
    return Content("kit/embedded.html", context)


def badge(label: str, text: str) -> Content:
    """Return an SVG badge with a label and a text."""
    left, right = (round(len(part) * LETTER_PX) + 12 for part in (label, text))
    context = {
        "name": f"{label}: {text}",
        "width": left + right,
        "left": left - 3,
        # Coordinates as text: SVG takes a decimal point in every language.
        "parts": [
            (label, f"{left / 2:g}", left - 12),
            (text, f"{left + right / 2:g}", right - 12),
        ],
    }
    return Content("kit/badge.svg", context)


def snippets(
    request: HttpRequest, frame: str, title: str, page: str, image: str = ""
) -> list[tuple[str, str, str]]:
    """Return texts to copy into other sites: slug, title and text of each."""
    whole = request.build_absolute_uri
    html = (
        f'<iframe src="{escape(whole(frame))}" title="{escape(title)}" width="720" '
        'height="480" loading="lazy" style="border:0;max-width:100%"></iframe>'
    )
    found = [("chart", _("The chart, as HTML"), html)]
    if image:
        # What would end a link's text in Markdown.
        named = title.replace("[", "(").replace("]", ")")
        text = f"[![{named}]({whole(image)})]({whole(page)})"
        found.append(("badge", _("The badge, as Markdown"), text))
    return found
