"""Creating studies and changing their settings."""

import pytest
from django.contrib.auth import get_user_model
from django.forms import ValidationError

from benchmarks.models import Membership, Study
from dashboard.pages.study_settings.views import format_factors, parse_factors

NEW = "/studies/new/"
FILLED = {
    "title": "KVM against native",
    "author": "Jane Doe",
    "institution": "Alpha",
    "data_licence": "CC-BY-4.0",
    "visibility": "private",
    "factors": 'guest bits: 32, 64\r\nstorage: "raw, on LVM", qcow2',
    "equivalence_margin_percent": "3.5",
    "baseline_max_age_days": "30",
}


@pytest.fixture
def carol(client, person):
    client.force_login(person)
    return client


def test_study_is_created_in_own_lab(carol, lab):
    answer = carol.post(NEW, FILLED)

    study = Study.objects.get()
    assert answer.url == "/studies/alpha-lab/kvm-against-native/"
    assert (study.lab, study.visibility, study.data_licence) == (
        *(lab, "private"),
        "CC-BY-4.0",
    )
    assert study.factors == {
        "guest bits": [32, 64],
        "storage": ["raw, on LVM", "qcow2"],
    }
    assert study.equivalence_margin_percent == 3.5


def test_study_is_shared_with_listed_and_named_labs(carol, other_lab):
    carol.post(NEW, {**FILLED, "visibility": "shared", "other_labs": "beta-lab"})

    assert [lab.slug for lab in Study.objects.get().shared_with.all()] == ["beta-lab"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"title": ""}, "This field is required"),
        ({"slug": "a b"}, "Use only letters a-z"),
        ({"factors": "bits 32, 64"}, "Line 1"),
        ({"factors": "bits: 32\nbits: 64"}, "Line 2"),
        ({"equivalence_margin_percent": "-1"}, "greater than or equal"),
        ({"visibility": "secret"}, "Select a valid choice"),
        ({"visibility": "shared"}, "List the labs"),
        ({"visibility": "shared", "other_labs": "missing"}, "No lab"),
        ({"slug": "study"}, "already exists and differs in"),
    ],
)
def test_errors_are_shown_at_fields(carol, study, changes, words):
    answer = carol.post(NEW, {**FILLED, **changes})

    assert answer.status_code in {409, 422}
    page = answer.content.decode()
    assert words in page
    assert "Jane Doe" in page
    assert Study.objects.count() == 1


def test_user_without_lab_is_informed(client, lab):
    reader = get_user_model().objects.create_user("eve")
    Membership.objects.create(lab=lab, user=reader, role="viewer")
    client.force_login(reader)

    assert client.get(NEW).status_code == 403
    assert client.post(NEW, FILLED).status_code == 403
    assert not Study.objects.exists()


def settings_of(study):
    return f"/studies/{study.lab.slug}/{study.slug}/settings/"


def test_unchanged_settings_change_nothing(carol, study):
    study.factors = {"bits": [32, 64], "note": 'a "b", c'}
    study.save()
    form = carol.get(settings_of(study)).context["form"]
    filled = {field.name: field.value() or "" for field in form}

    answer = carol.post(settings_of(study), filled)

    before = study.__dict__ | {"_state": None}
    study = Study.objects.get()
    assert answer.status_code == 302
    assert study.factors == {"bits": [32, 64], "note": ['a "b", c']}
    kept = {name: before[name] for name in ("title", "visibility", "archived_at")}
    assert {name: getattr(study, name) for name in kept} == kept


def test_study_is_archived_and_restored(carol, study):
    def stored(**changes):
        filled = {**FILLED, "visibility": "public", **changes}
        assert carol.post(settings_of(study), filled).status_code == 302
        return Study.objects.get()

    assert stored(archived="on").archived_at is not None
    assert "archived" in carol.get("/studies/alpha-lab/study/").content.decode()
    assert stored().archived_at is None


def test_home_page_links_to_new_study(carol, client, study):
    assert 'href="/studies/new/"' in carol.get("/").content.decode()
    client.logout()
    assert 'href="/studies/new/"' not in client.get("/").content.decode()


@pytest.mark.parametrize(
    "factors",
    [
        {"bits": [32, 64]},
        {"a": ["x, y", "z"], "b": [1.5, 'say "so"', "007"]},
        {},
    ],
)
def test_factors_round_trip(factors):
    assert parse_factors(format_factors(factors)) == factors


@pytest.mark.parametrize("text", [": 1", "a:", "a: \u202e", 'a: "x', "a"])
def test_invalid_factor_line_is_named(text):
    with pytest.raises(ValidationError, match="Line 1"):
        parse_factors(text)


@pytest.fixture
def transcribe(carol, study):
    """Save the settings of the study with these fields of its source."""

    def save(**source):
        return carol.post("/studies/alpha-lab/study/settings/", {**FILLED, **source})

    return save


def test_the_source_of_a_study_can_be_changed(transcribe, study):
    Study.objects.update(sources=[{"title": "A", "kind": "paper"}, {"title": "B"}])

    transcribe(source_title="C", source_link="https://doi.org/10.1000/182")

    study.refresh_from_db()
    first = {"title": "C", "kind": "paper", "doi": "10.1000/182"}
    assert study.sources == [first, {"title": "B"}]


def test_a_source_without_a_title_is_removed(transcribe, study):
    Study.objects.update(sources=[{"title": "A"}])

    transcribe(source_title="", source_link="https://example.org/a.pdf")

    study.refresh_from_db()
    assert study.sources == []


@pytest.mark.parametrize(
    "source",
    [
        {"source_link": "javascript:alert(1)"},
        {"source_published": "spring 2010"},
        {"source_published": "2010-13"},
    ],
)
def test_invalid_sources_are_explained(transcribe, source):
    answer = transcribe(source_title="A", **source)

    assert answer.status_code == 422
    assert "field-error" in answer.text
