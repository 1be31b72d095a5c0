"""What a browser is told to keep, and what it is given to read."""

import gzip
import re
import urllib.request

import pytest

pytestmark = [pytest.mark.product, pytest.mark.timeout(300)]
STUDY = "/studies/first-lab/lmu-2010-xen/"
PAGES = ("/", STUDY, f"{STUDY}compare/", f"{STUDY}report/", f"{STUDY}factor-effects/")
NAMED = re.compile(r'(?:src|href|data-plotly)="(/static/[^"]+)"')


@pytest.fixture(scope="module")
def given(product):
    """Read an address as a browser does; return its headers and its text."""

    def read(address):
        asked = urllib.request.Request(
            product.url + address, headers={"Accept-Encoding": "gzip"}
        )
        with urllib.request.urlopen(asked) as answer:
            body = answer.read()
        if answer.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        return answer.headers, body.decode()

    return read


def test_every_asset_is_kept_for_ever_and_what_is_long_is_compressed(given):
    named = {asset for page in PAGES for asset in NAMED.findall(given(page)[1])}
    assert len(named) > 8

    for asset in named:
        headers, text = given(asset)
        assert "immutable" in headers["Cache-Control"], asset
        assert re.search(r"\.[0-9a-f]{12}\.\w+$", asset)
        if len(text) > 500:
            assert headers["Content-Encoding"] == "gzip", asset


@pytest.mark.parametrize("page", [*PAGES, "/api/v1/comparisons/?study=lmu-2010-xen"])
def test_pages_and_answers_are_compressed(given, page):
    headers, text = given(page)

    assert headers["Content-Encoding"] == "gzip"
    assert int(headers["Content-Length"]) < len(text) / 2


def test_plotly_is_named_where_there_is_a_chart_and_loaded_by_no_page_itself(given):
    texts = {page: given(page)[1] for page in PAGES}

    assert "plotly" not in texts["/"] + texts[STUDY]
    assert 'data-plotly="/static/vendor/plotly' in texts[f"{STUDY}compare/"]
    for text in texts.values():
        scripts = re.findall(r"<script[^>]*src=[^>]*>", text)
        assert not [script for script in scripts if "plotly" in script]
        assert all("defer" in it for it in scripts if "theme" not in it)
        assert not re.findall(r'(?:src|href)="(?:https?:)?//', text)
