"""A public study beside a private one: no page, no file says a number of that one."""

import re
from urllib.parse import urlsplit

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import resolve

from benchmarks.models import Lab, Membership, Review, Study, Version
from benchmarks.viewer import ANYONE
from dashboard.exports.citation import citation_at
from dashboard.exports.report.building import report
from dashboard.pages.report.views import NOBODY
from tests import siblings
from tests.dashboard.routes import KEEP, ROUTES, counted
from tests.standing import standing

STUDY = f"/studies/alpha-lab/{siblings.PUBLIC}/"
ELSEWHERE = {
    # Of things that none of these studies has; `make leaks` meets them with marks.
    *("plan", "own-tool", "review", "review-file", "version", "version-file"),
    # Of members; a text as it is typed; a PDF, whose document the next test reads.
    *("members", "cell-reading", "report-made"),
}
OF_STUDIES = {
    name
    for name, route in ROUTES.items()
    if route.kind != "action" and route.is_private and route.own[0] != 403
    # Others than keepers are told that there is no such page.
    if route.own != KEEP
} - ELSEWHERE
WORDS = re.compile(r"\{(\w+)\}")


@pytest.fixture(scope="module", params=siblings.SCENARIOS)
def beside(request, django_db_setup, django_db_blocker):
    """A public study beside a private one; return a client of who may not see that."""
    with standing(django_db_blocker):
        siblings.beside(request.param)
        other = Lab.objects.create(slug="beta-lab")
        stranger = get_user_model().objects.create_user("stranger")
        Membership.objects.create(lab=other, user=stranger, role="admin")
        signed_in = Client()
        signed_in.force_login(stranger)
        yield signed_in


def addresses():
    """Every page, part and file about the public study, and about its neighbour's
    things where an id stands in the query."""
    public = Study.objects.get(slug=siblings.PUBLIC)
    private = Study.objects.get(slug=siblings.PRIVATE)
    # Its native run is in the private study.
    guest = public.cells.exclude(system__hypervisor="native").order_by("-pk")[0]
    cells = [guest, private.cells.all()[0]]
    asked = {*counted(STUDY), "/", "/labs/", "/labs/alpha-lab/"}
    asked |= {f"{STUDY}compare.{form}?show=value" for form in ("csv", "json", "tex")}
    asked |= {f"{STUDY}report/", f"{STUDY}compare/chart/?show=value"}
    asked |= {f"{STUDY}processing/", f"{STUDY}report.pdf"}
    asked |= {f"/embed{STUDY}compare/", "/embed/evidence/", "/embed/evidence.svg"}
    asked |= {f"/embed{STUDY}cells/{{cell}}/", f"/embed{STUDY}cells/{{cell}}.svg"}
    asked |= {"/runs/{run}/upload/", "/labs/alpha-lab/hosts/alpha/"}
    asked.add("/labs/alpha-lab/tools/")
    for version in Version.objects.all():
        asked.add(f"/versions/{version.pk}/")
        asked |= {
            f"/versions/{version.pk}/{file.name}/" for file in version.files.all()
        }
    for review in Review.objects.all():
        asked.add(f"/reviews/{review.pk}/")
        names = review.files.values_list("name", flat=True)
        asked |= {f"/reviews/{review.pk}/files/{name}" for name in names}
    for address in asked:
        for cell in cells if WORDS.search(address) else cells[:1]:
            run = cell.study.runs.first()
            yield WORDS.sub(
                lambda word, cell=cell, run=run: str(
                    {
                        "cell": cell.pk,
                        "run": run.pk,
                        "study": cell.study_id,
                    }.get(word[1], cell.system_id)
                ),
                address,
            )


def test_a_public_study_says_no_number_of_a_private_one(db, beside):
    found, reached = {}, set()
    for address in addresses():
        answer = beside.get(address, follow=True)
        if answer.status_code == 200:
            found[address] = answer.getvalue().decode(errors="replace")
            # Where it led to, too.
            for place in (address, *(place for place, _ in answer.redirect_chain)):
                reached.add(resolve(urlsplit(place).path).url_name)

    assert OF_STUDIES - reached == set()
    assert not [address for address, text in found.items() if siblings.tells(text)]


def test_a_report_as_a_file_says_none(db, beside):
    study = Study.objects.select_related("lab").get(slug=siblings.PUBLIC)

    document = report(ANYONE, study, citation_at("http://testserver", study), NOBODY)

    assert not siblings.tells(repr(document))
    assert "52.97" in repr(document)
