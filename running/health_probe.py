"""Check the health of a running server: `python -m running.health_probe URL`."""

import http.client
import sys
from urllib.error import URLError
from urllib.request import ProxyHandler, Request, build_opener

TIMEOUT_S = 5.0

# The server is our own, so no proxy is used. The header prevents a redirect if the
# server has HTTPS=on.
_opener = build_opener(ProxyHandler({}))
_HEADERS = {"X-Forwarded-Proto": "https"}


def is_healthy(url: str, timeout_s: float = TIMEOUT_S) -> bool:
    try:
        request = Request(url, headers=_HEADERS)
        with _opener.open(request, timeout=timeout_s) as answer:
            return bool(answer.status == http.client.OK)
    except (URLError, OSError, http.client.HTTPException):
        return False


if __name__ == "__main__":
    sys.exit(0 if is_healthy(sys.argv[1]) else 1)
