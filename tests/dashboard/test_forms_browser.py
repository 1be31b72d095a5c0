"""Forms in a browser: submitted once, without losing input."""

import re

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from playwright.sync_api import expect

from benchmarks.models import Lab, Membership, Plan, Study
from benchmarks.studies import systems
from tests.dashboard import browser_site, served_studies

pytestmark = pytest.mark.browser

NEW = "/studies/alpha-lab/study/plans/new/"
PLAN = re.compile(r"/plans/\d+/$")
MEMBERS = "/labs/alpha-lab/members/"
PASSWORD = "sesame-open-now"


@pytest.fixture
def site(transactional_db):
    """Serve a lab with one study, one system and one user."""
    connection.close()  # another module's site may have ended it
    lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
    Study.objects.create(lab=lab, slug="study", title="A study")
    systems.register_host(lab=lab, slug="alpha")
    described = {"host": "alpha", "hypervisor": "KVM", "guest_os": "Debian 12"}
    systems.register_system(lab=lab, description=described)
    carol = get_user_model().objects.create_user("carol", password=PASSWORD)
    Membership.objects.create(lab=lab, user=carol, role="maintainer")
    with served_studies.served() as address:
        yield address


def sign_in(page):
    page.get_by_label("Name").fill("carol")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Your account: carol").wait_for()


def opened(visit, address):
    page = visit.open(f"/login/?next={address}")
    sign_in(page)
    return page


def fill_in(page):
    page.get_by_label("Title").fill("Two guests")
    page.get_by_role("checkbox", name="KVM, Debian 12").check()
    page.get_by_role("checkbox", name="hackbench").check()
    page.get_by_label("Repetitions", exact=True).fill("3")


def test_two_clicks_create_one_plan(visit):
    page = opened(visit, NEW)
    fill_in(page)

    page.get_by_role("button", name="Create plan").dblclick()

    page.wait_for_url(PLAN)
    assert Plan.objects.count() == 1


def test_form_input_survives_an_expired_session(visit):
    page = opened(visit, NEW)
    fill_in(page)
    visit.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Create plan").click()
    page.wait_for_url("**/login/**")
    page.get_by_label("Name").fill("carol")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("Password")).to_be_focused()
    sign_in(page)

    expect(page.get_by_text("Your input has been restored.")).to_be_visible()
    expect(page.get_by_label("Repetitions", exact=True)).to_have_value("3")
    page.get_by_role("button", name="Create plan").click()
    page.wait_for_url(PLAN)
    assert Plan.objects.get().title == "Two guests"
    assert browser_site.violations(page) == []


def test_a_form_works_after_signing_in_in_another_tab(visit):
    page = opened(visit, NEW)
    fill_in(page)
    other = visit.open(NEW)
    other.get_by_role("button", name="Sign out").click()
    other.wait_for_url("**/")
    sign_in(visit.open("/login/"))

    page.get_by_role("button", name="Create plan").click()

    page.wait_for_url(PLAN)
    assert Plan.objects.count() == 1


def test_the_back_button_shows_no_private_page_after_sign_out(visit):
    """Simulate the back-forward cache, which Chromium does not use in tests."""
    brought_back = (
        "dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))"
    )
    page = opened(visit, MEMBERS)
    page.evaluate(brought_back)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.url.endswith(MEMBERS)
    other = visit.open(NEW)
    other.get_by_role("button", name="Sign out").click()
    other.wait_for_url("**/")

    page.evaluate(brought_back)

    page.wait_for_url("**/login/**")


def test_a_rejected_form_shows_errors_first_and_keeps_input(visit):
    page = opened(visit, NEW)
    fill_in(page)
    page.get_by_role("checkbox", name="One guest alone").uncheck()
    page.get_by_role("button", name="Create plan").click()

    first = page.get_by_role("checkbox", name="One guest alone")
    expect(first).to_be_focused()
    expect(first).to_have_accessible_description("Choose at least one scenario.")
    expect(page.get_by_label("Title")).to_have_value("Two guests")
    expect(page.get_by_role("checkbox", name="hackbench")).to_be_checked()


def test_drafts_are_deleted_after_submission(visit):
    page = opened(visit, MEMBERS)
    page.get_by_label("Name or email address").fill("dora")
    page.get_by_role("button", name="Invite").click()
    expect(page.get_by_text("Invitation link for dora")).to_be_visible()

    expect(page.get_by_label("Name or email address")).to_have_value("")
    expect(page.locator("[data-draft-restored]")).to_be_hidden()
    assert (
        page.evaluate("document.querySelector('[data-draft-restored]').textContent")
        == ""
    )


def test_comments_can_be_written_edited_and_removed(visit):
    page = opened(visit, "/studies/alpha-lab/study/")
    page.get_by_label("Write a comment").fill("<b>31 °C</b>: https://example.org/log")
    page.get_by_role("button", name="Comment", exact=True).click()
    written = page.locator(".comment")
    expect(written).to_contain_text("<b>31 °C</b>")
    expect(written.get_by_role("link")).to_have_attribute(
        "href", "https://example.org/log"
    )

    written.get_by_text("Edit", exact=True).click()
    page.get_by_label("Your comment").fill("30 °C")
    written.get_by_role("button", name="Save").click()
    expect(written).to_contain_text("30 °C")
    written.get_by_text("Earlier versions").click()
    expect(written).to_contain_text("<b>31 °C</b>")

    written.get_by_role("button", name="Remove").click()
    expect(written).to_contain_text("removed by carol")
