"""/labs/: visible labs, and the creation of labs."""

from benchmarks.labs.members import find_invitation
from benchmarks.models import Lab

LAB = {"slug": "rack-lab", "name": "The rack lab", "admin_name": "Carol"}


def test_labs_with_public_studies_are_listed(anyone, study, other_lab):
    (found,) = anyone.get("labs/").json()["results"]

    assert (found["slug"], found["study_count"]) == ("alpha-lab", 1)


def test_agents_cannot_create_labs_by_default(api):
    answer = api.post("labs/", LAB)

    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
    assert not Lab.objects.filter(slug="rack-lab").exists()


def test_new_labs_have_an_invitation_for_their_admin(api, settings):
    settings.LAB_CREATION = "everybody"

    answer = api.post("labs/", LAB)

    assert answer.status_code == 201
    invitation = find_invitation(answer.json()["invitation"])
    assert (invitation.lab.slug, invitation.role) == ("rack-lab", "admin")
    again = api.post("labs/", LAB)
    assert (again.status_code, again.json()["code"]) == (409, "lab_exists")


def test_read_tokens_cannot_create_labs(reader, anyone, settings):
    settings.LAB_CREATION = "everybody"

    assert reader.post("labs/", LAB).status_code == 403
    assert anyone.post("labs/", LAB).status_code == 401


def test_invalid_labs_get_errors_by_field(api, settings):
    settings.LAB_CREATION = "everybody"

    answer = api.post("labs/", {"slug": "x" * 51, "name": ""})

    assert answer.status_code == 400
    assert set(answer.json()["fields"]) == {"slug", "name", "admin_name"}
