"""Sign-in by a real OpenID Connect provider in a real browser."""

import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth import get_user_model

from benchmarks.labs.members import store_invitation
from benchmarks.models import AuditEntry, Lab, Membership
from tests.dashboard import browser_site
from tests.dashboard.pages.account.conftest import PASSWORD

pytestmark = pytest.mark.browser
WITH = "Sign in with Uni login"


def through_the_provider(page, sub):
    page.get_by_role("button", name=WITH).click()
    page.get_by_placeholder("sub").fill(sub)
    page.get_by_role("button", name="Authorize").click()


def by_password(page):
    page.get_by_label("Username").fill("carol")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("link", name="Your account: carol").wait_for()


def test_invited_user_signs_in_by_provider_and_out(
    visit, site, identity_provider, settings
):
    identity_provider.serves(settings, site)
    identity_provider.knows("dora-1", preferred_username="dora")
    lab = Lab.objects.get()
    _, code = store_invitation(lab=lab, actor=None, name="Dora", role="viewer")

    page = visit.open(f"/invitation/#{code}")
    through_the_provider(page, "dora-1")
    page.get_by_role("link", name="Your account: dora").wait_for()

    dora = get_user_model().objects.get(username="dora")
    assert not dora.has_usable_password()
    assert Membership.objects.get(user=dora).role == "viewer"
    assert AuditEntry.objects.get(kind="joined").person == dora
    assert SocialAccount.objects.get().extra_data == {
        "sub": "dora-1",
        "preferred_username": "dora",
    }
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("link", name="Sign out of Uni login").wait_for()

    page.goto(f"{site}/login/?next=/studies/alpha-lab/secret/")
    through_the_provider(page, "dora-1")
    page.wait_for_url("**/studies/alpha-lab/secret/")
    assert browser_site.violations(page) == []


def test_uninvited_user_gets_no_account(visit, site, identity_provider, settings):
    identity_provider.serves(settings, site)
    identity_provider.knows("eve", preferred_username="carol", email="eve@example.org")

    page = visit.open("/login/")
    through_the_provider(page, "eve")

    page.get_by_text("No account here is linked").wait_for()
    assert get_user_model().objects.count() == 1


@pytest.mark.parametrize("said", [False, "false", 1])
def test_address_unverified_by_provider_links_no_account(
    visit, site, identity_provider, settings, said
):
    identity_provider.serves(settings, site, accounts="everybody")
    carol = get_user_model().objects.get()
    EmailAddress.objects.create(user=carol, email="carol@example.org", verified=True)
    claims = {"email": "carol@example.org", "preferred_username": "carol"}
    identity_provider.knows("mallory", **claims, email_verified=said)

    page = visit.open("/login/")
    through_the_provider(page, "mallory")
    page.get_by_role("link", name="Your account:").wait_for()

    [linked] = SocialAccount.objects.all()
    assert linked.user != carol
    assert linked.user.username.startswith("carol")
    assert not EmailAddress.objects.filter(user=linked.user).exists()
    assert not Membership.objects.filter(user=linked.user).exists()


def test_address_unverified_here_links_no_account(
    visit, site, identity_provider, settings
):
    identity_provider.serves(settings, site)
    carol = get_user_model().objects.get()
    EmailAddress.objects.create(user=carol, email="victim@example.org", verified=False)
    identity_provider.knows("victim", email="victim@example.org", email_verified=True)

    page = visit.open("/login/")
    through_the_provider(page, "victim")

    page.get_by_text("No account here is linked").wait_for()
    assert not SocialAccount.objects.exists()


def test_address_verified_on_both_sides_links_account(
    visit, site, identity_provider, settings
):
    identity_provider.serves(settings, site)
    carol = get_user_model().objects.get()
    EmailAddress.objects.create(user=carol, email="carol@example.org", verified=True)
    identity_provider.knows("c-1", email="Carol@Example.org", email_verified=True)

    page = visit.open("/login/")
    through_the_provider(page, "c-1")

    page.get_by_role("link", name="Your account: carol").wait_for()
    assert AuditEntry.objects.get(kind="linked_sign_in").person == carol
    carol.refresh_from_db()
    assert carol.check_password(PASSWORD)


def test_all_provider_users_may_read_configured_lab(
    visit, site, identity_provider, settings
):
    identity_provider.serves(settings, site, accounts="everybody", lab="alpha-lab")
    identity_provider.knows("fred", email="fred@example.org", email_verified=True)

    page = visit.open("/login/?next=/studies/alpha-lab/secret/")
    through_the_provider(page, "fred")

    page.get_by_role("heading", name="A private study").wait_for()
    fred = get_user_model().objects.get(username="fred")
    assert Membership.objects.get(user=fred).role == "viewer"
    assert EmailAddress.objects.get(user=fred).verified


def test_user_links_and_unlinks_provider(visit, site, identity_provider, settings):
    identity_provider.serves(settings, site)
    page = visit.open("/login/?next=/account/")
    by_password(page)
    page.get_by_role("button", name="Link Uni login").click()
    page.get_by_placeholder("sub").fill("c-2")
    page.get_by_role("button", name="Authorize").click()
    page.get_by_text("You can now sign in with Uni login.").wait_for()
    assert SocialAccount.objects.get().user.username == "carol"

    page.get_by_role("button", name="Unlink Uni login").click()
    page.get_by_text("You can no longer sign in with Uni login.").wait_for()

    kinds = AuditEntry.objects.order_by("pk").values_list("kind", flat=True)
    assert list(kinds) == ["linked_sign_in", "unlinked_sign_in"]
    assert not SocialAccount.objects.exists()


def test_provider_refusal_prevents_sign_in(visit, site, identity_provider, settings):
    identity_provider.serves(settings, site)
    page = visit.open("/login/")

    page.get_by_role("button", name=WITH).click()
    page.get_by_role("button", name="Deny").click()

    page.get_by_text("Sign-in with Uni login failed.").wait_for()
    assert page.request.get(f"{site}/account/", max_redirects=0).status == 302


def test_unrequested_callback_signs_nobody_in(
    client, db, identity_provider, settings, valkey
):
    identity_provider.serves(settings, "http://testserver")

    answers = [
        # From another network, because the sign-ins of other tests are counted.
        client.get(
            "/login/callback/?code=stolen&state=guessed", REMOTE_ADDR="203.0.113.9"
        ).status_code
        for _ in range(11)
    ]

    assert answers == [302] * 10 + [429]
    assert client.get("/account/").status_code == 302


def test_unavailable_provider_is_reported(client, db, identity_provider, settings):
    identity_provider.serves(settings, "http://testserver")
    away = {**settings.OIDC_PROVIDER.__dict__, "issuer": "http://localhost:1"}
    settings.OIDC_PROVIDER = type(settings.OIDC_PROVIDER)(**away)
    apps = [settings.OIDC_PROVIDER.app]
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": apps}}

    answer = client.post("/login/provider/", follow=True)

    assert "is not responding as expected" in answer.text


def test_provider_pages_need_provider(client, db):
    assert "Sign in with" not in client.get("/login/").text
    assert client.post("/login/provider/").status_code == 404
    assert client.get("/login/callback/").status_code == 404
