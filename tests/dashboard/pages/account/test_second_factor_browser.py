"""Second factors in a real browser: authenticator app, passkeys, recovery codes."""

import time
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth import get_user_model

from benchmarks.labs.member_sign_in_methods import totp_code
from benchmarks.models import AuditEntry, Lab
from tests.dashboard import browser_site
from tests.dashboard.pages.account.conftest import PASSWORD

pytestmark = pytest.mark.browser


def by_password(page):
    page.get_by_label("Username").fill("carol")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def code_of(secret, periods=0):
    return totp_code(secret, int(time.time()) // 30 + periods)


def virtual_passkey(page):
    """Add a virtual authenticator that accepts everything to the browser."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    answer = devtools.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return devtools, answer["authenticatorId"]


def set_up_an_app(page):
    """Return the app's secret and the recovery codes; the first code is wrong."""
    page.get_by_role("link", name="Set up an authenticator app").click()
    address = page.get_by_role("link", name="Open it in an app").get_attribute("href")
    secret = parse_qs(urlsplit(address).query)["secret"][0]
    send_code(page, "000000", "Set up")
    page.get_by_text("This code is wrong.").wait_for()
    # The code of the previous period: the current one is left for the sign-in.
    send_code(page, code_of(secret, -1), "Set up")
    return secret, page.locator("#recovery-codes").inner_text().split()


def send_code(page, code, button="Continue"):
    page.get_by_role("textbox", name="Code").fill(code)
    page.get_by_role("button", name=button).click()


def test_app_is_required_and_recovery_codes_work_once(visit, site):
    page = visit.open("/login/?next=/account/second-factor/")
    by_password(page)
    secret, codes = set_up_an_app(page)
    assert len(codes) == 10
    stored = Authenticator.objects.get(type="totp")
    assert secret not in stored.data["secret"]
    assert browser_site.violations(page) == []

    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{site}/login/?next=/studies/alpha-lab/secret/")
    by_password(page)
    page.get_by_role("heading", name="Second factor").wait_for()
    assert page.request.get(f"{site}/account/", max_redirects=0).status == 302
    assert page.request.get(f"{site}/studies/alpha-lab/secret/").status == 404
    now = code_of(secret)
    send_code(page, now)
    page.get_by_role("heading", name="A private study").wait_for()

    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{site}/login/")
    by_password(page)
    send_code(page, now)
    page.get_by_text("This code is wrong or was already used.").wait_for()
    send_code(page, codes[0])
    page.get_by_role("link", name="Your account: carol").wait_for()

    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{site}/login/")
    by_password(page)
    send_code(page, codes[0])
    page.get_by_text("This code is wrong or was already used.").wait_for()
    kinds = AuditEntry.objects.order_by("pk").values_list("kind", flat=True)
    assert list(kinds) == ["set_factor", "set_factor", "used_recovery_code"]


def test_passkey_is_required_and_replay_rejected(visit, site):
    page = visit.open("/login/?next=/account/second-factor/")
    by_password(page)
    page.get_by_role("link", name="Add a passkey").click()
    devtools, authenticator = virtual_passkey(page)
    page.get_by_label("Name").fill("my laptop")
    page.get_by_role("button", name="Create passkey").click()
    page.get_by_text("The passkey is set up.").wait_for()
    [made] = Authenticator.objects.filter(type="webauthn")
    assert made.data["name"] == "my laptop"

    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{site}/login/")
    by_password(page)
    with page.expect_request(
        lambda sent: sent.method == "POST" and "second-factor" in sent.url
    ) as caught:
        page.get_by_role("button", name="Use a passkey").click()
    page.get_by_role("link", name="Your account: carol").wait_for()
    overheard = parse_qs(caught.value.post_data)["credential"][0]
    assert browser_site.violations(page) == []

    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{site}/login/")
    by_password(page)
    page.get_by_role("button", name="Use a passkey").wait_for()
    page.evaluate(
        """(said) => {
          const form = document.querySelector("[data-passkey]");
          form.elements.credential.value = said;
          form.submit();
        }""",
        overheard,
    )
    page.get_by_text("This passkey was not accepted.").wait_for()

    # A passkey of another account.
    devtools.send("WebAuthn.clearCredentials", {"authenticatorId": authenticator})
    page.get_by_role("button", name="Use a passkey").click()
    page.get_by_text("No passkey was used.").wait_for()
    assert get_user_model().objects.get().is_active


def test_lab_requiring_second_factor_is_closed_without(visit, site):
    Lab.objects.update(requires_second_factor=True)
    page = visit.open("/login/?next=/studies/alpha-lab/secret/")
    by_password(page)

    page.get_by_text(
        "Alpha lab requires its members to have a second factor"
    ).wait_for()
    assert page.request.get(f"{site}/labs/alpha-lab/members/").url.endswith(
        "/account/second-factor/"
    )
    assert page.request.get(f"{site}/api/v1/studies/").json()["results"] == []

    page.get_by_role("link", name="Add a passkey").click()
    virtual_passkey(page)
    page.get_by_label("Name").fill("my laptop")
    page.get_by_role("button", name="Create passkey").click()
    page.get_by_text("The passkey is set up.").wait_for()

    page.goto(f"{site}/studies/alpha-lab/secret/")
    page.get_by_role("heading", name="A private study").wait_for()
    assert len(page.request.get(f"{site}/api/v1/studies/").json()["results"]) == 1
