"""Pages and files of a public study contain no numbers of a private one."""

import re
from urllib.parse import urlsplit

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import resolve

from benchmarks.models import Lab, Membership, Review, Study, Version
from benchmarks.viewer import ANYONE
from dashboard.exports.citation import citation_at
from dashboard.exports.report.builder import build_report
from dashboard.pages.report.views import ANONYMOUS_IMPRINT
from tests import sibling_studies
from tests.dashboard.routes import EDITORS_ONLY, ROUTES, counted
from tests.module_data import standing

STUDY = f"/studies/alpha-lab/{sibling_studies.PUBLIC}/"
ELSEWHERE = {
    # Pages of objects that these studies do not have; `make privacy-crawl` visits them.
    *("plan", "custom-tool", "review", "review-file", "version", "version-file"),
    # Pages for members, raw output, and the PDF, which the next test checks.
    *("members", "cell-run-output", "report-file"),
}
OF_STUDIES = {
    name
    for name, route in ROUTES.items()
    if route.kind != "action" and route.is_private and route.member_statuses[0] != 403
    # For users other than editors these pages do not exist.
    if route.member_statuses != EDITORS_ONLY
} - ELSEWHERE
WORDS = re.compile(r"\{(\w+)\}")


@pytest.fixture(scope="module", params=sibling_studies.SCENARIOS)
def stranger_client(request, django_db_setup, django_db_blocker):
    """Load a public and a private study; return a client that sees only the first."""
    with standing(django_db_blocker):
        sibling_studies.store_siblings(request.param)
        other = Lab.objects.create(slug="beta-lab")
        stranger = get_user_model().objects.create_user("stranger")
        Membership.objects.create(lab=other, user=stranger, role="admin")
        signed_in = Client()
        signed_in.force_login(stranger)
        yield signed_in


def addresses():
    """Return all URLs of the public study, and those with private IDs in the query."""
    public = Study.objects.get(slug=sibling_studies.PUBLIC)
    private = Study.objects.get(slug=sibling_studies.PRIVATE)
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
    asked.add("/labs/alpha-lab/custom-tools/")
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


def test_pages_of_a_public_study_contain_no_private_numbers(db, stranger_client):
    found, reached = {}, set()
    for address in addresses():
        answer = stranger_client.get(address, follow=True)
        if answer.status_code == 200:
            found[address] = answer.getvalue().decode(errors="replace")
            # Include redirect targets.
            for place in (address, *(place for place, _ in answer.redirect_chain)):
                reached.add(resolve(urlsplit(place).path).url_name)

    assert OF_STUDIES - reached == set()
    assert not [
        address
        for address, text in found.items()
        if sibling_studies.reveals_private_study(text)
    ]


def test_reports_contain_no_private_numbers(db, stranger_client):
    study = Study.objects.select_related("lab").get(slug=sibling_studies.PUBLIC)

    document = build_report(
        ANYONE, study, citation_at("http://testserver", study), ANONYMOUS_IMPRINT
    )

    assert not sibling_studies.reveals_private_study(repr(document))
    assert "52.97" in repr(document)
