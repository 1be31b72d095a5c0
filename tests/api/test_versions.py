"""GET /versions/: published versions and their files, which never change."""

import hashlib
from dataclasses import replace

import pytest

from benchmarks.publishing import versions
from benchmarks.publishing.publications import withdraw
from benchmarks.publishing.study_level import assess_study


@pytest.fixture
def published(measured, study, publish):
    return publish(study)


def test_versions_are_listed(anyone, published, study, publish):
    second = publish(study)

    rows = anyone.get("versions/", study="study").json()["results"]

    assert [row["id"] for row in rows] == [published.pk, second.pk]
    assert [row["number"] for row in rows] == [1, 2]


def test_versions_have_publisher_date_and_rule_set(anyone, published, settings):
    found = anyone.get(f"versions/{published.pk}/").json()

    assert found["page_url"].endswith(f"/versions/{published.pk}/")
    assert (found["lab"], found["study"], found["published_by"]) == (
        *("alpha-lab", "study", "carol"),
    )
    assert (found["rule_set"], found["level"], found["publishing_permission"]) == (
        3,
        "draft",
        "unrestricted",
    )
    assert found["product_version"] == settings.VERSION
    assert found["sha256"] == published.digest
    assert found["signatures"] == []


def test_old_versions_keep_their_rule_set(
    anyone, published, study, publish, monkeypatch
):
    judged = replace(assess_study(study), rule_set=1)
    with monkeypatch.context() as before:
        before.setattr(versions, "assess_study", lambda study: judged)
        old = publish(study)

    rows = anyone.get("versions/", study="study").json()["results"]

    assert {row["id"]: row["rule_set"] for row in rows} == {published.pk: 3, old.pk: 1}


def test_files_match_their_digests(anyone, published):
    for file in anyone.get(f"versions/{published.pk}/").json()["files"]:
        answer = anyone.get(f"versions/{published.pk}/{file['format']}/")

        assert hashlib.sha256(answer.content).hexdigest() == file["sha256"]
        assert len(answer.content) == file["size"]


def test_unknown_formats_are_404(anyone, published):
    answer = anyone.get(f"versions/{published.pk}/docx/")

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_withdrawn_versions_have_a_reason_and_files(anyone, published):
    withdraw(published, actor="carol", reason="Wrong disk.")

    found = anyone.get(f"versions/{published.pk}/").json()

    assert (found["withdrawal_reason"], bool(found["withdrawn_at"])) == (
        *("Wrong disk.", True),
    )
    assert anyone.get(f"versions/{published.pk}/csv/").content == b"a,b\r\n"


def test_query_count_is_fixed(
    anyone, published, study, publish, django_assert_num_queries
):
    for _ in range(3):
        publish(study)

    with django_assert_num_queries(4):
        anyone.get("versions/", study="study")
