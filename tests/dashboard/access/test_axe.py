"""axe-core on errors and on pages after user actions."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.dashboard import routes
from tests.dashboard.access import axe
from tests.dashboard.access.page_checks import small_targets, unfold, visible_problems

pytestmark = [pytest.mark.browser, pytest.mark.django_db, pytest.mark.slow]

SHRINK = """
() => document.querySelectorAll(".site-nav a").forEach((each) => {
  each.textContent = "·";
  each.parentElement.style.gap = "0";
})
"""
DATA = Path(__file__).parents[2] / "data"
SPOIL = """
() => {
  document.querySelector("label").remove();
  const text = document.createElement("p");
  text.className = "lede-spoilt";
  text.textContent = "Hardly to be read";
  text.style.color = "#777";
  text.style.background = "#888";
  document.querySelector("h1").after(text);
}
"""


def check(page: Page) -> None:
    """Check the page as shown, then close it."""
    found = visible_problems(page)
    page.close()
    assert found == []


def test_small_adjacent_links_are_detected(windows):
    """Control: the check detects a violation."""
    page = windows["nobody"].open("/login/")
    assert small_targets(page) == []

    page.evaluate(SHRINK)
    assert small_targets(page) != []
    page.close()


@pytest.mark.parametrize("code", [400, 403, 404, 500])
@pytest.mark.parametrize("who", ["nobody", "maintainer"])
def test_error_pages_are_accessible(windows, who, code):
    page = windows[who].open(f"/broken/{code}/" if code != 404 else "/nowhere/")

    assert page.locator("h1").count() == 1
    check(page)
    assert [str(code) in each for each in windows[who].errors] == [True]
    windows[who].errors.clear()


def test_expired_form_is_accessible(windows):
    page = windows["nobody"].open("/login/")
    page.context.clear_cookies(name="csrftoken")
    sign_in(page)

    expect(page.get_by_role("heading", level=1)).to_have_text("This form has expired")
    check(page)
    windows["nobody"].errors.clear()


def test_wrong_password_error_is_accessible(windows):
    page = windows["nobody"].open("/login/")
    sign_in(page)

    expect(page.get_by_role("alert")).to_contain_text("Wrong username or password")
    check(page)


def sign_in(page):
    page.get_by_label("Name").fill("maintainer")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()


def test_upload_refusal_is_accessible(windows):
    page = windows["viewer"].open("/upload/")

    expect(page.locator("main")).to_contain_text("You are a viewer")
    check(page)
    windows["viewer"].errors.clear()


def test_cell_card_is_accessible(windows):
    page = windows["nobody"].open(f"{routes.XEN_STUDY}compare/?component=network")
    page.locator(".cell[class*=heat-] a").first.focus()
    page.keyboard.press("ArrowRight")

    expect(page.locator("#cell-card")).to_be_visible()
    check(page)
    assert windows["nobody"].errors == []


def test_dropped_files_are_accessible(windows):
    page = windows["maintainer"].open("/upload/")
    files = [DATA / "iometer/2006-disk.txt", DATA / "netperf/fail.txt"]
    page.locator("#upload-file").set_input_files(files)
    expect(page.locator("[data-file-entry]")).to_have_count(2)
    unfold(page)

    check(page)
    assert windows["maintainer"].errors == []


def test_decision_and_message_are_accessible(windows, site):
    page = windows["maintainer"].open(f"{routes.XEN_STUDY}flags/?status=open")
    flag = page.locator(site.address("#flag-{flag}"))
    flag.get_by_text("Review").click()
    flag.get_by_label("Reason").fill("The table was copied wrongly.")
    flag.get_by_role("button", name="Confirm").click()

    # The page also says that a check is due.
    told = page.locator("main").get_by_role("status")
    expect(told.filter(has_text="were saved")).to_be_visible()
    check(page)
    assert windows["maintainer"].errors == []


def test_low_contrast_and_unnamed_field_are_detected(windows):
    """Control: the check detects a violation."""
    page = windows["nobody"].open("/login/")
    page.evaluate(SPOIL)

    found = " ".join(axe.violations(page))

    assert "360 px, dark: color-contrast: .lede-spoilt" in found
    assert "1440 px, light: label: #id_username" in found
    page.close()
