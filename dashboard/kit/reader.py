"""How a page's reader writes numbers and days: what the browser says of them.

The text has its own language (``LocaleMiddleware``): a German who reads English text
still reads 0,984 and 21.11.2026, and ``lang`` of the page stays that of its text.
"""

from collections.abc import Callable
from functools import lru_cache

from django.conf.locale import LANG_INFO
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.utils.formats import get_format
from django.utils.translation.trans_real import parse_accept_lang_header

from dashboard.kit.figures import NEUTRAL, Locale, written_as

# Numbers of this language are those of the text, and so may be the names of months.
TEXT_LANGUAGE = "en"


class ReaderLocaleMiddleware:
    """Write each page as its reader writes."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with written_as(locale_of(request.headers.get("Accept-Language", ""))):
            response = self.get_response(request)
        patch_vary_headers(response, ["Accept-Language"])
        return response


@lru_cache(maxsize=256)
def locale_of(accepted: str) -> Locale:
    """Return the first locale that a browser accepts and that is known."""
    for code, _share in parse_accept_lang_header(accepted):
        if code in LANG_INFO or code.partition("-")[0] in LANG_INFO:
            return _locale(code)
    return NEUTRAL


def _locale(code: str) -> Locale:
    decimal = str(get_format("DECIMAL_SEPARATOR", lang=code))
    thousands = str(get_format("THOUSAND_SEPARATOR", lang=code))
    # Days in words only where their words are the page's: else "21. March 2026".
    is_text = code.partition("-")[0] == TEXT_LANGUAGE
    day = get_format("DATE_FORMAT" if is_text else "SHORT_DATE_FORMAT", lang=code)
    if thousands in ("", decimal):  # of some languages only one of both is known
        thousands = "\N{NO-BREAK SPACE}"
    return Locale(decimal, thousands, str(day))
