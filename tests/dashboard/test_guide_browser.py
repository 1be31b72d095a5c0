"""A first visit in a real browser, over the real studies; a lab's people at work."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth import get_user_model
from playwright.sync_api import expect

from benchmarks.models import Agent, Lab, Membership, Token
from benchmarks.studies.rollups import LED_THROUGH, XEN
from dashboard.pages.overview.tour import LESSONS
from tests.dashboard import browsing, serving
from tests.reference import load_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

PASSWORD = "sesame-open-now"
XEN_PAGE = f"/studies/alpha-lab/{XEN}/"
QUESTIONS = {lesson.example: str(lesson.question) for lesson in LESSONS}
# Of each step, what the reader must find on its page.
FACTS = {
    "memory": "Component: Memory",
    "single_run": "not assessed: single run",
    "settings": "Guest tools installed",
    "mistake": "off by a factor near 10",
    "bimodal": "Two speeds",
    "report": "PDF",
}
STEPS = [(QUESTIONS[example], fact) for example, fact in FACTS.items()]


@pytest.fixture(scope="module")
def site(django_db_setup, django_db_blocker):
    """Serve the three studies of the guided path, and a lab with a maintainer."""
    with serving.committed(django_db_blocker):
        lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
        agent = Agent.objects.create(lab=lab, name="alice")
        for slug in LED_THROUGH:
            load_study(agent, slug)
        serving.check_all()
        carol = get_user_model().objects.create_user("carol", password=PASSWORD)
        Membership.objects.create(lab=lab, user=carol, role="maintainer")
        with serving.served() as address:
            yield address


def complaints(page, within=None):
    """Return what axe finds wrong on a page, or within a part of it."""
    found = Axe().run(page, within).response["violations"]
    return [(each["id"], each["nodes"][0]["html"]) for each in found]


def sign_in(page):
    page.get_by_label("Name").fill("carol")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def test_a_visitor_follows_the_path_to_its_end(chromium, site):
    with browsing.window(chromium, site) as visit:
        page = visit.open("/")
        page.get_by_role("link", name="Start: 6 pages").click()
        for number, (question, found) in enumerate(STEPS, start=1):
            strip = page.get_by_role("complementary", name=question)
            expect(strip).to_contain_text(f"Guided path, {number} of 6")
            expect(page.locator("main")).to_contain_text(found)
            assert browsing.violations(page) == []
            strip.get_by_role("link", name=re.compile("^(Next|Done)")).click()
        expect(page).to_have_url(f"{site}/#studies")
        assert visit.errors == []


def test_the_keyboard_alone_walks_there_and_back(chromium, site):
    with browsing.window(chromium, site) as visit:
        page = visit.open("/")
        start = page.get_by_role("link", name="Start: 6 pages")
        for _ in range(30):
            if start.evaluate("node => node === document.activeElement"):
                break
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        press_through(page, "Tab Tab Enter", QUESTIONS["single_run"])
        press_through(page, "Tab Enter", QUESTIONS["settings"])
        press_through(page, "Tab Tab Enter", QUESTIONS["single_run"])
        press_through(page, "Tab Tab Tab Enter", "")
        assert "tour" not in browsing.query(page)
        expect(page.locator("h1")).to_contain_text("not assessed: single run")


def press_through(page, keys, question):
    """Press keys from the strip, where a step puts the keyboard; then see the next."""
    expect(page.locator("#tour")).to_be_focused()
    for key in keys.split():
        page.keyboard.press(key)
    strips = page.locator("#tour-question")
    expect(strips).to_have_text([question] if question else [])


def test_the_flag_that_is_spoken_of_is_one_key_away(chromium, site):
    with browsing.window(chromium, site) as visit:
        page = visit.open("/")
        page.get_by_role("link", name=QUESTIONS["mistake"]).click()
        page.get_by_role("link", name="Show it").click()

        shown = page.locator(".flag:target")
        expect(shown).to_be_in_viewport()
        expect(shown).to_contain_text("off by a factor near 10")


def test_the_path_needs_no_script_and_fits_a_phone(chromium, site):
    phone = {"viewport": {"width": 360, "height": 740}, "java_script_enabled": False}
    with browsing.window(chromium, site, **phone) as visit:
        page = visit.open("/")
        page.get_by_role("link", name="Start: 6 pages").click()
        for question, _ in STEPS:
            expect(page.locator("#tour-question")).to_have_text(question)
            box = page.locator("#tour").bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 360
            page.get_by_role("link", name=re.compile("^(Next|Done)")).click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_wrong_with_a_strip_an_open_word_and_the_words(
    chromium, site, scheme
):
    with browsing.window(chromium, site, color_scheme=scheme) as visit:
        page = visit.open("/")
        page.get_by_role("button", name="What is the ratio?").click()
        assert complaints(page) == []
        page.get_by_role("link", name=QUESTIONS["single_run"]).click()
        assert complaints(page, "#tour") == []
        page.get_by_role("button", name="relative performance").click()
        assert complaints(page, ".defence") == []
        assert complaints(visit.open("/glossary/#verdict")) == []


def test_a_word_opens_and_closes_by_keyboard(chromium, site):
    with browsing.window(chromium, site) as visit:
        page = visit.open("/")
        word = page.get_by_role("button", name="What is the ratio?")
        meaning = page.locator("#word-efficiency-spectrum")
        expect(meaning).to_be_hidden()

        word.press("Enter")
        expect(meaning).to_contain_text("Native = 1")
        expect(meaning).to_be_in_viewport(ratio=1)
        page.keyboard.press("Tab")
        expect(meaning.get_by_role("link")).to_be_focused()
        page.keyboard.press("Escape")
        expect(meaning).to_be_hidden()


def test_a_word_is_explained_at_the_foot_of_a_phone(chromium, site):
    phone = {"viewport": {"width": 360, "height": 740}}
    with browsing.window(chromium, site, **phone) as visit:
        page = visit.open(f"{XEN_PAGE}compare/?component=memory")
        page.get_by_role("button", name="What the ratios mean").click()

        meaning = page.locator("#word-efficiency-summary")
        expect(meaning).to_be_in_viewport(ratio=1)
        assert meaning.bounding_box()["width"] > 300
        assert browsing.too_wide(page) == []


def test_a_maintainer_invites_a_person_who_joins_from_another_browser(chromium, site):
    with (
        browsing.window(chromium, site) as visit,
        browsing.window(chromium, site) as guest,
    ):
        page = visit.open("/labs/alpha-lab/members/")
        sign_in(page)
        page.get_by_label("Name or e-mail address").fill("dora@example.org")
        page.get_by_role("button", name="Create link").click()
        link = page.locator("#invitation-link").inner_text()
        assert complaints(page) == []

        other = guest.open(link.removeprefix(site))
        expect(other.locator("h1")).to_have_text("Alpha lab invites you")
        assert "#" not in other.url
        assert complaints(other) == []
        other.get_by_label("Name").fill("dora")
        other.get_by_label("Password", exact=True).fill("a-long-enough-word")
        other.get_by_label("Repeat password").fill("a-long-enough-word")
        other.get_by_role("button", name="Create account and join").click()
        expect(other.locator("main")).to_contain_text("You joined Alpha lab.")

        page.reload()
        assert Membership.objects.get(user__username="dora").role == "viewer"
        assert visit.errors + guest.errors == []


def test_a_token_is_made_copied_and_revoked(chromium, site):
    allowed = {"permissions": ["clipboard-read", "clipboard-write"]}
    with browsing.window(chromium, site, color_scheme="dark", **allowed) as visit:
        page = visit.open("/labs/alpha-lab/tokens/")
        sign_in(page)
        page.get_by_role("combobox", name="Agent").fill("rack-7")
        page.get_by_role("button", name="Create token").click()
        page.get_by_role("button", name="Copy the token").click()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == page.locator("#token-secret").inner_text()
        assert complaints(page) == []
        assert browsing.violations(page) == []

        prefix = copied[3:13]
        page.get_by_label(f"Revoke vl_{prefix}").click()
        assert Token.objects.get(prefix=prefix).is_valid()
        page.get_by_role("button", name="Yes, revoke").click()
        expect(page.locator("main")).to_contain_text("is revoked")
        expect(page.locator("#token-secret")).to_have_count(0)
        assert not Token.objects.get(prefix=prefix).is_valid()
