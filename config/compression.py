"""Compress text responses at level 1: six times as fast as Django's level 6."""

import gzip
import re
import secrets
from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

LEVEL: Final = 1
SHORTEST: Final = 200
TEXTS: Final = ("text/", "application/json", "image/svg+xml", "application/vnd.oai")
HAS_NAME: Final = 8
LONGEST_NAME: Final = 100
ACCEPTED = re.compile(r"\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))")


def compression(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Compress texts for clients that accept gzip."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if (
            not isinstance(response, HttpResponse)
            or not response.get("Content-Type", "").startswith(TEXTS)
            or response.has_header("Content-Encoding")
            or len(response.content) < SHORTEST
        ):
            return response
        patch_vary_headers(response, ("Accept-Encoding",))
        if ACCEPTED.search(request.headers.get("Accept-Encoding", "")):
            response.content = compressed(response.content)
            response["Content-Length"] = str(len(response.content))
            response["Content-Encoding"] = "gzip"
            # Other bytes than those that were named: the same to a reader only.
            if (tag := response.get("ETag", "")).startswith('"'):
                response["ETag"] = f"W/{tag}"
        return response

    return answer


def compressed(content: bytes) -> bytes:
    """Return a gzip file whose header has a name of random length, against BREACH.

    Source: https://ieeexplore.ieee.org/document/9754554
    """
    packed = gzip.compress(content, LEVEL, mtime=0)
    name = b"a" * secrets.randbelow(LONGEST_NAME)
    return b"".join(
        (packed[:3], bytes([HAS_NAME]), packed[4:10], name, b"\0", packed[10:])
    )
