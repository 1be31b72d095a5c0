"""No page sends more than 100 kB before its chart comes into sight."""

import gzip

import pytest

from benchmarks.models import Cell
from tests.dashboard import browsing
from tests.dashboard.browser.site import COMPARE, STUDY

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

MOST_BYTES = 100_000
# Of a window so small no chart is in sight, wherever on its page it stands.
SMALL = {"viewport": {"width": 1400, "height": 120}}


def test_no_page_is_heavy_before_its_chart_is_in_sight(chromium, site):
    cell = Cell.objects.filter(study__slug="lmu-2010-xen", n__gt=0).first()
    addresses = ("/", "/evidence/", STUDY, COMPARE, f"{STUDY}cells/{cell.pk}/")
    addresses += ("/compare/", f"{STUDY}flags/", f"{STUDY}report/", "/docs/method/")
    for address in addresses:
        # Each in a window of its own: nothing was fetched before.
        with browsing.window(chromium, site, **SMALL) as visit:
            page = visit.context.new_page()
            answers = []
            page.on("response", lambda it, all_of=answers: all_of.append(it))
            page.goto(visit.url + address, wait_until="networkidle")

            bodies = {answer.url: answer.body() for answer in answers}
            # As a server in front of it sends them; Plotly alone has 1.4 MB.
            sent = sum(len(gzip.compress(body)) for body in bodies.values())
            assert not [url for url in bodies if "plotly" in url], address
            assert 1_000 < sent <= MOST_BYTES, (address, sent)
