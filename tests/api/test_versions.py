"""GET /versions/: what was frozen, and the same bytes for ever."""

import hashlib

import pytest

from benchmarks.publishing.versions import withdraw_version


@pytest.fixture
def frozen(measured, study, freeze):
    return freeze(study)


def test_it_lists_them(anyone, frozen, study, freeze):
    second = freeze(study)

    rows = anyone.get("versions/", study="study").json()["results"]

    assert [row["id"] for row in rows] == [frozen.pk, second.pk]
    assert [row["number"] for row in rows] == [1, 2]


def test_it_says_by_whom_when_and_by_which_rules(anyone, frozen, settings):
    found = anyone.get(f"versions/{frozen.pk}/").json()

    assert found["page"].endswith(f"/versions/{frozen.pk}/")
    assert (found["lab"], found["study"], found["frozen_by"]) == (
        *("alpha-lab", "study", "carol"),
    )
    assert (found["rule_set"], found["level"], found["licence"]) == (1, "draft", "free")
    assert found["product_version"] == settings.VERSION
    assert found["sha256"] == frozen.digest
    assert found["signatures"] == []


def test_each_file_is_what_its_digest_says(anyone, frozen):
    for file in anyone.get(f"versions/{frozen.pk}/").json()["files"]:
        answer = anyone.get(f"versions/{frozen.pk}/{file['form']}/")

        assert hashlib.sha256(answer.content).hexdigest() == file["sha256"]
        assert len(answer.content) == file["size"]


def test_a_form_that_does_not_exist_is_said_to_be_missing(anyone, frozen):
    answer = anyone.get(f"versions/{frozen.pk}/docx/")

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_what_is_withdrawn_says_why_and_keeps_its_files(anyone, frozen):
    withdraw_version(version=frozen, who="carol", reason="Wrong disk.")

    found = anyone.get(f"versions/{frozen.pk}/").json()

    assert (found["withdrawn_reason"], bool(found["withdrawn_at"])) == (
        *("Wrong disk.", True),
    )
    assert anyone.get(f"versions/{frozen.pk}/csv/").content == b"a,b\r\n"


def test_a_list_asks_a_fixed_number_of_times(
    anyone, frozen, study, freeze, django_assert_num_queries
):
    for _ in range(3):
        freeze(study)

    with django_assert_num_queries(4):
        anyone.get("versions/", study="study")
