"""Pages send at most 100 kB before their chart is visible."""

import gzip

import pytest

from benchmarks.models import Cell
from tests.dashboard import browser_site
from tests.dashboard.browser.site import COMPARE, STUDY

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

MOST_BYTES = 100_000
# In such a small window, no chart is visible on any page.
SMALL = {"viewport": {"width": 1400, "height": 120}}


def test_pages_are_light_until_chart_is_visible(chromium, site):
    cell = Cell.objects.filter(study__slug="lmu-2010-xen", n__gt=0).first()
    addresses = ("/", "/evidence/", STUDY, COMPARE, f"{STUDY}cells/{cell.pk}/")
    addresses += ("/compare/", f"{STUDY}flags/", f"{STUDY}report/", "/docs/method/")
    for address in addresses:
        # A new window per page, so that nothing is cached.
        with browser_site.window(chromium, site, **SMALL) as visit:
            page = visit.context.new_page()
            answers = []
            page.on("response", lambda it, all_of=answers: all_of.append(it))
            page.goto(visit.url + address, wait_until="networkidle")

            bodies = {answer.url: answer.body() for answer in answers}
            # Compressed like by a reverse proxy. Plotly alone has 1.4 MB.
            sent = sum(len(gzip.compress(body)) for body in bodies.values())
            assert not [url for url in bodies if "plotly" in url], address
            assert 1_000 < sent <= MOST_BYTES, (address, sent)
