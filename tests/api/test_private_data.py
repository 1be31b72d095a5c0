"""A public and a private study in one lab: no URL reveals private numbers."""

import pytest

from benchmarks.datasets.tables import TABLES
from benchmarks.labs.tokens import issue_token
from benchmarks.models import (
    Agent,
    Case,
    Flag,
    Host,
    Lab,
    Review,
    Run,
    Study,
    System,
    Version,
)
from tests import sibling_studies
from tests.api.test_visibility import BY_STUDY, LISTS
from tests.module_data import standing


@pytest.fixture(scope="module", params=sibling_studies.SCENARIOS)
def sibling_token(request, django_db_setup, django_db_blocker):
    """Store a public and a private study; return a token of another lab."""
    with standing(django_db_blocker):
        sibling_studies.store_siblings(request.param)
        other = Lab.objects.create(slug="beta-lab")
        agent = Agent.objects.create(lab=other, name="bob")
        yield issue_token(agent=agent, can_read=True)[1]


def urls_of_siblings():
    """Yield all URLs that might contain data of the public or the private study."""
    study = Study.objects.get(slug=sibling_studies.PUBLIC)
    for table in TABLES:
        for form in ("csv", "ndjson"):
            yield f"data/{table}/{form}/"
            yield f"data/{table}/{form}/?study={sibling_studies.PUBLIC}"
    hosts = Host.objects.values_list("pk", flat=True)
    yield f"studies/{sibling_studies.PUBLIC}/"
    yield f"profile/?study={sibling_studies.PUBLIC}"
    yield from (f"{name}/?study={sibling_studies.PUBLIC}" for name in BY_STUDY)
    yield from (f"{name}/" for name in LISTS)
    yield from (f"hosts/{pk}/" for pk in hosts)
    for name, rows in {
        "systems": System.objects.all(),
        "runs": Run.objects.all(),
        "flags": Flag.objects.all(),
        "cases": Case.objects.all(),
        "versions": Version.objects.all(),
    }.items():
        yield from (f"{name}/{row.pk}/" for row in rows)
    yield from (f"runs/{row.pk}/samples/" for row in Run.objects.all())
    for version in Version.objects.all():
        yield from (
            f"versions/{version.pk}/{item.name}/" for item in version.files.all()
        )
    for review in Review.objects.all():
        yield f"reviews/{review.pk}/"
        for file in review.files.all():
            yield f"reviews/{review.pk}/{file.name}/"
    for cell in study.cells.all():
        yield f"flags/?cell={cell.pk}"
        yield f"comparisons/?study={sibling_studies.PUBLIC}&baseline={cell.system_id}"
        yield f"trend/?study={sibling_studies.PUBLIC}&case={cell.case_id}"


def test_public_study_reveals_no_private_number(db, anyone, sibling_token):
    found = {
        address: answer.getvalue().decode()
        for address in urls_of_siblings()
        if (answer := anyone.get(address, token=sibling_token)).status_code == 200
    }

    assert len(found) > len(BY_STUDY)
    assert not [
        address
        for address, text in found.items()
        if sibling_studies.reveals_private_study(text)
    ]


def test_labs_see_their_private_numbers(db, anyone, sibling_token):
    owner = Study.objects.get(slug=sibling_studies.PRIVATE).lab
    token = issue_token(agent=owner.agents.first(), can_read=True)[1]

    texts = "".join(
        anyone.get(f"{name}/", token=token, study=sibling_studies.PRIVATE)
        .getvalue()
        .decode()
        for name in ("cells", "comparisons", "sessions", "systems")
    )

    whole = anyone.get("data/samples/ndjson/", token=token).getvalue().decode()
    assert sibling_studies.MARK in whole
    assert sibling_studies.MARK in texts
    assert sibling_studies.PRIVATE in texts
