"""The pages of a lab, for members and others."""

import pytest
from django.contrib.auth import get_user_model

from benchmarks.labs.members import invite_person
from benchmarks.labs.tokens import issue_token
from benchmarks.models import AuditEntry, Membership, Study
from benchmarks.studies.flags import decide_flag

PAGE = "/labs/alpha-lab/"
INNER = ["members/", "tokens/", "audit-log/"]
CHANGES = [
    "members/{person}/role/",
    "members/{person}/remove/",
    "invitations/{invitation}/withdraw/",
    "tokens/{prefix}/revoke/",
]
FOR_KEEPERS = ["tokens/", "audit-log/", "tokens/{prefix}/revoke/"]


@pytest.fixture
def viewer(lab):
    vera = get_user_model().objects.create_user("vera", password="reads-everything")
    Membership.objects.create(lab=lab, user=vera, role=Membership.Role.VIEWER)
    return vera


@pytest.fixture
def stranger(other_lab):
    bert = get_user_model().objects.create_user("bert", password="another-lab-here")
    Membership.objects.create(lab=other_lab, user=bert, role=Membership.Role.ADMIN)
    return bert


@pytest.fixture
def object_ids(lab, person, agent, study):
    invitation, _ = invite_person(lab=lab, actor=person, name="Dora", role="viewer")
    token, _ = issue_token(agent=agent, can_upload=True)
    return {
        "person": person.pk,
        "invitation": invitation.pk,
        "prefix": token.prefix,
    }


def test_stranger_sees_name_and_public_studies_only(
    text, study, private_study, host, agent, person
):
    page = text(PAGE)

    assert "Alpha lab" in page
    assert "A study" in page
    for private in ("A secret", "alice", "carol", "Hosts", "Members"):
        assert private not in page


def test_list_counts_visible_studies(
    client, text, study, private_study, viewer, stranger
):
    Membership.objects.create(lab=stranger.memberships.get().lab, user=viewer)

    assert "1 study<" in text("/labs/")
    client.force_login(viewer)
    assert "2 studies" in text("/labs/")
    assert "0 studies" in text("/labs/")


def test_lab_without_public_studies_is_404(client, text, private_study, stranger):
    assert client.get(PAGE).status_code == 404
    client.force_login(stranger)
    assert client.get(PAGE).status_code == 404
    client.logout()
    assert "Alpha lab" not in text("/labs/")


def test_member_sees_studies_hosts_agents_and_members(
    client, text, pair, private_study, agent, viewer
):
    client.force_login(viewer)

    page = text(PAGE)

    for own in ("A secret", "A study", "alpha", "alice", "vera"):
        assert own in page
    assert "Agents and tokens" not in page


@pytest.mark.parametrize("inner", INNER)
def test_inner_pages_require_sign_in(client, object_ids, inner):
    answer = client.get(PAGE + inner)

    assert answer.status_code == 302
    assert answer["Location"].startswith("/login/")


@pytest.mark.parametrize("address", [*INNER, *CHANGES])
def test_inner_pages_are_404_for_other_admins(client, object_ids, stranger, address):
    client.force_login(stranger)
    ask = client.post if address in CHANGES else client.get
    place = PAGE + address.format(**object_ids)

    assert ask(place).status_code == 404
    assert ask(place.replace("alpha-lab", "no-lab")).status_code == 404
    assert AuditEntry.objects.count() == 1  # the earlier invitation


@pytest.mark.parametrize("address", FOR_KEEPERS)
def test_tokens_and_audit_log_are_404_for_viewers(client, object_ids, viewer, address):
    client.force_login(viewer)
    ask = client.post if address in CHANGES else client.get

    assert ask(PAGE + address.format(**object_ids)).status_code == 404


@pytest.mark.parametrize("address", CHANGES)
def test_get_changes_nothing(client, object_ids, person, address):
    client.force_login(person)

    assert client.get(PAGE + address.format(**object_ids)).status_code == 405


@pytest.mark.parametrize("address", CHANGES)
def test_objects_of_another_lab_are_404(client, object_ids, stranger, address):
    """The admin of a lab names another lab's member, invitation or token."""
    client.force_login(stranger)

    answer = client.post(
        f"/labs/beta-lab/{address.format(**object_ids)}", {"role": "viewer"}
    )

    assert answer.status_code == 404


def test_list_redirects_to_only_lab(client, text, study, person, stranger):
    assert "Alpha lab" in text("/labs/")

    client.force_login(person)
    assert client.get("/labs/")["Location"] == PAGE
    Membership.objects.create(lab_id=stranger.memberships.get().lab_id, user=person)
    assert "Beta lab" in text("/labs/")


def test_audit_log_shows_actions(
    client, text, object_ids, person, submit, run_document, study
):
    flag = study.flags.create(
        lab=study.lab, rule="r", severity="impossible", message="Odd."
    )
    decide_flag(flag=flag, status="confirmed", note="A slip.", actor="carol")
    client.force_login(person)
    client.post(f"{PAGE}tokens/{object_ids['prefix']}/revoke/")

    page = text(f"{PAGE}audit-log/")

    assert "invited Dora (viewer)" in page
    assert "confirmed a flag: A slip." in page
    assert f"revoked the token vl_{object_ids['prefix']}_... (alice)" in page


def test_query_count_is_independent_of_lab_size(
    client, object_ids, person, lab, pair, django_assert_num_queries
):
    Study.objects.create(lab=lab, slug="more", visibility="public")
    for number in range(4):
        issue_token(agent=lab.agents.create(name=f"a-{number}"), can_read=True)
    client.force_login(person)

    with django_assert_num_queries(21):
        client.get(PAGE)
    with django_assert_num_queries(9):
        client.get(f"{PAGE}tokens/")
