"""The speed table's pages: a benchmark that breaks unseen measures nothing."""

from contextlib import closing

import pytest

from bench.pages import Pages, addresses_of, studies_of

pytestmark = [pytest.mark.product, pytest.mark.proof, pytest.mark.timeout(300)]


def test_every_page_that_is_timed_is_there(product):
    with closing(Pages(product)) as pages:
        found = dict(addresses_of(pages, studies_of(product)))

        kinds = {kind.partition(",")[0] for kind in found}
        assert {"overview", "study", "compare", "cell", "trend", "runs"} <= kinds
        for addresses in found.values():
            for address in addresses:
                pages.read(address)
