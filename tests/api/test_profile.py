"""/profile/: what each system of a study costs."""

import pytest


@pytest.fixture
def pair(submit, run_document, xen):
    submit(run_document(52.97), run_document(13.08, system=xen))


def test_it_has_a_row_a_system_and_a_share_a_component(anyone, pair):
    answer = anyone.get("profile/", study="study").json()

    assert (answer["study"], answer["is_relative"]) == ("study", False)
    assert answer["components"] == ["network"]
    (system,) = answer["systems"]
    assert system["system"] == "Xen 3.3 full Ubuntu Server 9.04 32-bit"
    (share,) = system["component_means"]
    assert share["mean"] == pytest.approx(13.08 / 52.97)
    assert (share["low"], share["high"], share["min_runs"]) == (None, None, 1)
    assert (share["case_count"], share["excluded_count"]) == (1, 0)


def test_a_study_has_to_be_named(anyone, pair):
    answer = anyone.get("profile/")

    assert answer.status_code == 400
    assert "study" in answer.json()["fields"]


def test_an_empty_study_has_an_empty_profile(anyone, study):
    answer = anyone.get("profile/", study="study").json()

    assert (answer["components"], answer["systems"]) == ([], [])
