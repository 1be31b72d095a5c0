"""The number of queries of a page does not depend on the size of the study."""

from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmarks.models import Cell, Plan, Run, System
from benchmarks.studies.lookup import find_study, page_annotations
from benchmarks.viewer import ANYONE
from tests.dashboard.routes import counted

STUDY = "/studies/alpha-lab/study/"
SMALL, LARGE = 2, 7
PAGES = counted(STUDY)


def asked(client, page):
    cell = Cell.objects.filter(system__hypervisor="Xen").earliest("pk")
    guests = System.objects.filter(hypervisor="Xen").order_by("pk")
    run, plan = Run.objects.earliest("pk"), Plan.objects.latest("pk")
    one, other = guests.values_list("pk", flat=True)[:2]
    ids = {"system": one, "one": one, "other": other, "cell": cell.pk}
    ids["study"] = cell.study_id
    address = page.format(**ids, run=run.pk, plan=plan.pk)
    with CaptureQueriesContext(connection) as found:
        answer = client.get(address)
        answer.getvalue()
    assert answer.status_code == 200, address
    return [query["sql"] for query in found]


def test_the_growing_study_has_content_for_every_page(grow, study):
    grow(SMALL)
    told = page_annotations()
    found = find_study(ANYONE, "alpha-lab/study", **told)

    not_there = ("has_emulation_beside", "has_native_above_hypervisor")
    everything = dict.fromkeys(told, True) | dict.fromkeys(not_there, False)
    assert {name: getattr(found, name) for name in told} == everything


def test_larger_studies_need_no_more_queries(client, grow):
    grow(SMALL)
    before = {page: len(asked(client, page)) for page in PAGES}
    grow(LARGE)
    after = {page: len(asked(client, page)) for page in PAGES}

    assert after == before
    # The report needs the most queries: some for each section.
    assert max(after.values()) <= 42
