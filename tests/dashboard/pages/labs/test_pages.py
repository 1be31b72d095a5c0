"""The pages of a lab: what its people see, and what others do not learn."""

import pytest
from django.contrib.auth import get_user_model

from benchmarks.labs.people import invite_person
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
def things(lab, person, agent, study):
    """What the addresses of a lab are about."""
    invitation, _ = invite_person(lab=lab, by=person, name="Dora", role="viewer")
    token, _ = issue_token(agent=agent, can_upload=True)
    return {
        "person": person.pk,
        "invitation": invitation.pk,
        "prefix": token.prefix,
    }


def test_a_stranger_sees_the_name_and_the_public_studies_only(
    text, study, private_study, host, agent, person
):
    page = text(PAGE)

    assert "Alpha lab" in page
    assert "A study" in page
    for private in ("A secret", "alice", "carol", "Hosts", "Members"):
        assert private not in page


def test_the_list_counts_the_studies_that_one_may_see(
    client, text, study, private_study, viewer, stranger
):
    Membership.objects.create(lab=stranger.memberships.get().lab, user=viewer)

    assert "1 study<" in text("/labs/")
    client.force_login(viewer)
    assert "2 studies" in text("/labs/")
    assert "0 studies" in text("/labs/")


def test_a_lab_that_published_nothing_is_not_there(
    client, text, private_study, stranger
):
    assert client.get(PAGE).status_code == 404
    client.force_login(stranger)
    assert client.get(PAGE).status_code == 404
    client.logout()
    assert "Alpha lab" not in text("/labs/")


def test_a_member_sees_studies_hosts_agents_and_members(
    client, text, pair, private_study, agent, viewer
):
    client.force_login(viewer)

    page = text(PAGE)

    for own in ("A secret", "A study", "alpha", "alice", "vera"):
        assert own in page
    assert "Agents and tokens" not in page


@pytest.mark.parametrize("inner", INNER)
def test_inner_pages_ask_strangers_to_sign_in(client, things, inner):
    answer = client.get(PAGE + inner)

    assert answer.status_code == 302
    assert answer["Location"].startswith("/login/")


@pytest.mark.parametrize("address", [*INNER, *CHANGES])
def test_another_labs_admin_finds_nothing(client, things, stranger, address):
    client.force_login(stranger)
    ask = client.post if address in CHANGES else client.get
    place = PAGE + address.format(**things)

    assert ask(place).status_code == 404
    assert ask(place.replace("alpha-lab", "no-lab")).status_code == 404
    assert AuditEntry.objects.count() == 1  # the invitation that was there before


@pytest.mark.parametrize("address", FOR_KEEPERS)
def test_a_viewer_finds_no_tokens_and_no_audit_log(client, things, viewer, address):
    client.force_login(viewer)
    ask = client.post if address in CHANGES else client.get

    assert ask(PAGE + address.format(**things)).status_code == 404


@pytest.mark.parametrize("address", CHANGES)
def test_a_link_changes_nothing(client, things, person, address):
    client.force_login(person)

    assert client.get(PAGE + address.format(**things)).status_code == 405


@pytest.mark.parametrize("address", CHANGES)
def test_things_of_another_lab_cannot_be_named(client, things, stranger, address):
    """The admin of a lab names another lab's person, invitation or token."""
    client.force_login(stranger)

    answer = client.post(
        f"/labs/beta-lab/{address.format(**things)}", {"role": "viewer"}
    )

    assert answer.status_code == 404


def test_the_list_leads_to_the_only_lab(client, text, study, person, stranger):
    assert "Alpha lab" in text("/labs/")

    client.force_login(person)
    assert client.get("/labs/")["Location"] == PAGE
    Membership.objects.create(lab_id=stranger.memberships.get().lab_id, user=person)
    assert "Beta lab" in text("/labs/")


def test_the_audit_log_tells_who_did_what_to_people_tokens_and_flags(
    client, text, things, person, submit, run_document, study
):
    flag = study.flags.create(
        lab=study.lab, rule="r", severity="impossible", sentence="Odd."
    )
    decide_flag(flag=flag, status="confirmed", note="A slip.", who="carol")
    client.force_login(person)
    client.post(f"{PAGE}tokens/{things['prefix']}/revoke/")

    page = text(f"{PAGE}audit-log/")

    assert "invited Dora (viewer)" in page
    assert "confirmed a flag: A slip." in page
    assert f"revoked the token vl_{things['prefix']}_... (alice)" in page


def test_its_queries_do_not_grow_with_what_a_lab_has(
    client, things, person, lab, pair, django_assert_num_queries
):
    Study.objects.create(lab=lab, slug="more", visibility="public")
    for number in range(4):
        issue_token(agent=lab.agents.create(name=f"a-{number}"), can_read=True)
    client.force_login(person)

    with django_assert_num_queries(21):
        client.get(PAGE)
    with django_assert_num_queries(9):
        client.get(f"{PAGE}tokens/")
