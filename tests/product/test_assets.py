"""Caching headers and content of static files."""

import gzip
import re
import urllib.request

import pytest

pytestmark = [pytest.mark.product, pytest.mark.timeout(300)]
STUDY = "/studies/first-lab/lmu-2010-xen/"
PAGES = ("/", STUDY, f"{STUDY}compare/", f"{STUDY}report/", f"{STUDY}factor-effects/")
NAMED = re.compile(r'(?:src|href|data-plotly-src)="(/static/[^"]+)"')


@pytest.fixture(scope="module")
def get(product):
    """Request an address as a browser does; return its headers and text."""

    def read(address):
        request = urllib.request.Request(
            product.url + address, headers={"Accept-Encoding": "gzip"}
        )
        with urllib.request.urlopen(request) as answer:
            body = answer.read()
        if answer.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        return answer.headers, body.decode()

    return read


def test_assets_are_cached_forever_and_compressed(get):
    assets = {asset for page in PAGES for asset in NAMED.findall(get(page)[1])}
    assert len(assets) > 8

    for asset in assets:
        headers, text = get(asset)
        assert "immutable" in headers["Cache-Control"], asset
        assert re.search(r"\.[0-9a-f]{12}\.\w+$", asset)
        if len(text) > 500:
            assert headers["Content-Encoding"] == "gzip", asset


@pytest.mark.parametrize("page", [*PAGES, "/api/v1/comparisons/?study=lmu-2010-xen"])
def test_pages_and_api_responses_are_compressed(get, page):
    headers, text = get(page)

    assert headers["Content-Encoding"] == "gzip"
    assert int(headers["Content-Length"]) < len(text) / 2


def test_plotly_is_named_by_charts_and_loaded_by_no_page(get):
    texts = {page: get(page)[1] for page in PAGES}

    assert "plotly" not in texts["/"] + texts[STUDY]
    assert 'data-plotly-src="/static/vendor/plotly' in texts[f"{STUDY}compare/"]
    for text in texts.values():
        scripts = re.findall(r"<script[^>]*src=[^>]*>", text)
        assert not [script for script in scripts if "plotly" in script]
        assert all("defer" in script for script in scripts if "theme" not in script)
        assert not re.findall(r'(?:src|href)="(?:https?:)?//', text)
