"""/profile/: the mean relative performance of each system of a study."""

import pytest


@pytest.fixture
def pair(submit, run_document, xen):
    submit(run_document(52.97), run_document(13.08, system=xen))


def test_profiles_have_a_mean_per_system_and_component(anyone, pair):
    answer = anyone.get("profile/", study="study").json()

    assert (answer["study"], answer["is_relative"]) == ("study", False)
    assert answer["components"] == ["network"]
    (system,) = answer["systems"]
    assert system["system"] == "Xen 3.3 full Ubuntu Server 9.04 32-bit"
    (share,) = system["component_means"]
    assert share["mean"] == pytest.approx(13.08 / 52.97)
    assert (share["low"], share["high"], share["min_runs"]) == (None, None, 1)
    assert (share["case_count"], share["excluded_count"]) == (1, 0)


def test_study_is_required(anyone, pair):
    answer = anyone.get("profile/")

    assert answer.status_code == 400
    assert "study" in answer.json()["fields"]


def test_empty_studies_have_an_empty_profile(anyone, study):
    answer = anyone.get("profile/", study="study").json()

    assert (answer["components"], answer["systems"]) == ([], [])
