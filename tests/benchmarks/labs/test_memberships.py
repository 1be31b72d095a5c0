"""Memberships, and the agents for browser uploads."""

import pytest
from django.contrib.auth import authenticate, get_user_model

from benchmarks.labs.members import end_sessions, person_agent, set_role
from benchmarks.models import Agent, Membership


def test_a_person_has_one_agent_in_a_lab(lab, other_lab, person):
    first, repeated = (person_agent(lab=lab, user=person) for _ in range(2))
    other = person_agent(lab=other_lab, user=person)

    assert first == repeated
    assert first.name == f"browser-{person.pk}"
    assert (first.lab, other.lab) == (lab, other_lab)
    assert Agent.objects.count() == 2


def test_a_renamed_person_keeps_the_agent(lab, person):
    before = person_agent(lab=lab, user=person)
    person.username = "caroline"
    person.save()

    assert person_agent(lab=lab, user=person) == before


def test_a_new_person_can_sign_in_and_has_the_role(lab):
    password = set_role(lab=lab, username="dora", role="maintainer")

    dora = authenticate(username="dora", password=password)
    assert dora is not None
    assert Membership.objects.get(user=dora, lab=lab).role == "maintainer"


def test_existing_person_keeps_password_and_gets_new_role(lab, person):
    assert set_role(lab=lab, username="carol", role="admin") == ""

    assert authenticate(username="carol", password="sesame-open-now") == person
    assert Membership.objects.get(user=person).role == "admin"


@pytest.mark.parametrize("role", ["viewer", "admin"])
def test_a_person_may_belong_to_several_labs(lab, other_lab, person, role):
    set_role(lab=other_lab, username="carol", role=role)

    roles = dict(Membership.objects.values_list("lab__slug", "role"))
    assert roles == {"alpha-lab": "maintainer", "beta-lab": role}
    assert get_user_model().objects.count() == 1


def test_ending_sessions_keeps_the_password(client, person):
    client.login(username="carol", password="sesame-open-now")

    end_sessions(person=person, password="sesame-open-now")

    assert client.get("/account/").status_code == 302
    assert authenticate(username="carol", password="sesame-open-now") == person
