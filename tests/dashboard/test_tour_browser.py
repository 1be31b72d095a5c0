"""A first visit in a browser with the real studies, and members of a lab at work."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth import get_user_model
from playwright.sync_api import expect

from benchmarks.models import Agent, Lab, Membership, Token
from benchmarks.studies.study_rollups import TOUR_STUDIES, XEN_SLUG
from dashboard.pages.home.tour import LESSONS
from tests.dashboard import browser_site, served_studies
from tests.reference_studies import load_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

PASSWORD = "sesame-open-now"
XEN_PAGE = f"/studies/alpha-lab/{XEN_SLUG}/"
QUESTIONS = {lesson.example: str(lesson.question) for lesson in LESSONS}
# Text that must be on the page of each step.
FACTS = {
    "memory": "Component: Memory",
    "single_run": "single run, no verdict",
    "settings": "Guest tools installed",
    "mistake": "which is near 10",
    "bimodal": "Two speeds",
    "report": "PDF",
}
STEPS = [(QUESTIONS[example], fact) for example, fact in FACTS.items()]


@pytest.fixture(scope="module")
def site(django_db_setup, django_db_blocker):
    """Serve the three studies of the tour, and a lab with a maintainer."""
    with served_studies.committed(django_db_blocker):
        lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
        agent = Agent.objects.create(lab=lab, name="alice")
        for slug in TOUR_STUDIES:
            load_study(agent, slug)
        served_studies.check_all()
        carol = get_user_model().objects.create_user("carol", password=PASSWORD)
        Membership.objects.create(lab=lab, user=carol, role="maintainer")
        with served_studies.served() as address:
            yield address


def axe_violations(page, within=None):
    """Return the violations that axe reports for a page or part of it."""
    found = Axe().run(page, within).response["violations"]
    return [(item["id"], item["nodes"][0]["html"]) for item in found]


def sign_in(page):
    page.get_by_label("Name").fill("carol")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def test_a_visitor_can_follow_the_tour_to_its_end(chromium, site):
    with browser_site.window(chromium, site) as visit:
        page = visit.open("/")
        page.get_by_role("link", name="Start the 2-minute tour (6 steps)").click()
        for number, (question, found) in enumerate(STEPS, start=1):
            strip = page.get_by_role("complementary", name=question)
            expect(strip).to_contain_text(f"Tour, step {number} of 6")
            expect(page.locator("main")).to_contain_text(found)
            assert browser_site.violations(page) == []
            strip.get_by_role("link", name=re.compile("^(Next|Done)")).click()
        expect(page).to_have_url(f"{site}/studies/")
        assert visit.errors == []


def test_the_tour_works_by_keyboard(chromium, site):
    with browser_site.window(chromium, site) as visit:
        page = visit.open("/")
        start = page.get_by_role("link", name="Start the 2-minute tour (6 steps)")
        for _ in range(60):
            if start.evaluate("node => node === document.activeElement"):
                break
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        press_through(page, "Tab Tab Enter", QUESTIONS["single_run"])
        press_through(page, "Tab Enter", QUESTIONS["settings"])
        press_through(page, "Tab Tab Enter", QUESTIONS["single_run"])
        press_through(page, "Tab Tab Tab Enter", "")
        assert "tour" not in browser_site.query(page)
        expect(page.locator("h1")).to_contain_text("single run, no verdict")


def press_through(page, keys, question):
    """Press keys, starting at the tour bar; then check the next step."""
    expect(page.locator("#tour")).to_be_focused()
    for key in keys.split():
        page.keyboard.press(key)
    strips = page.locator("#tour-question")
    expect(strips).to_have_text([question] if question else [])


def test_a_link_of_the_tour_shows_the_mentioned_flag(chromium, site):
    with browser_site.window(chromium, site) as visit:
        page = visit.open("/")
        page.get_by_role("link", name=QUESTIONS["mistake"]).click()
        page.get_by_role("link", name="Show", exact=True).click()

        shown = page.locator(".flag:target")
        expect(shown).to_be_in_viewport()
        expect(shown).to_contain_text("which is near 10")


def test_the_tour_works_without_javascript_and_on_a_phone(chromium, site):
    phone = {"viewport": {"width": 360, "height": 740}, "java_script_enabled": False}
    with browser_site.window(chromium, site, **phone) as visit:
        page = visit.open("/")
        page.get_by_role("link", name="Start the 2-minute tour (6 steps)").click()
        for question, _ in STEPS:
            expect(page.locator("#tour-question")).to_have_text(question)
            box = page.locator("#tour").bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 360
            page.get_by_role("link", name=re.compile("^(Next|Done)")).click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violations_in_tour_and_glossary(chromium, site, scheme):
    with browser_site.window(chromium, site, color_scheme=scheme) as visit:
        page = visit.open("/studies/")
        page.get_by_role("button", name="What does the ratio mean?").click()
        assert axe_violations(page) == []
        page = visit.open("/")
        assert axe_violations(page) == []
        page.get_by_role("link", name=QUESTIONS["single_run"]).click()
        assert axe_violations(page, "#tour") == []
        page.get_by_role("button", name="relative performance").click()
        assert axe_violations(page, ".cell-assessment") == []
        assert axe_violations(visit.open("/glossary/#verdict")) == []


def test_glossary_terms_open_and_close_by_keyboard(chromium, site):
    with browser_site.window(chromium, site) as visit:
        page = visit.open("/studies/")
        word = page.get_by_role("button", name="What does the ratio mean?")
        meaning = page.locator("#term-efficiency-spectrum")
        expect(meaning).to_be_hidden()

        word.press("Enter")
        expect(meaning).to_contain_text("native = 1")
        expect(meaning).to_be_in_viewport(ratio=1)
        page.keyboard.press("Tab")
        expect(meaning.get_by_role("link")).to_be_focused()
        page.keyboard.press("Escape")
        expect(meaning).to_be_hidden()


def test_glossary_terms_are_at_the_bottom_on_a_phone(chromium, site):
    phone = {"viewport": {"width": 360, "height": 740}}
    with browser_site.window(chromium, site, **phone) as visit:
        page = visit.open(f"{XEN_PAGE}compare/?component=memory")
        page.get_by_role("button", name="About these ratios").click()

        meaning = page.locator("#term-efficiency-summary")
        expect(meaning).to_be_in_viewport(ratio=1)
        assert meaning.bounding_box()["width"] > 300
        assert browser_site.too_wide(page) == []


def test_a_maintainer_can_invite_a_user_who_joins(chromium, site):
    with (
        browser_site.window(chromium, site) as visit,
        browser_site.window(chromium, site) as guest,
    ):
        page = visit.open("/labs/alpha-lab/members/")
        sign_in(page)
        page.get_by_label("Name or email address").fill("dora@example.org")
        page.get_by_role("button", name="Invite").click()
        link = page.locator("#invitation-link").inner_text()
        assert axe_violations(page) == []

        other = guest.open(link.removeprefix(site))
        expect(other.locator("h1")).to_have_text("You are invited to join Alpha lab")
        assert "#" not in other.url
        assert axe_violations(other) == []
        other.get_by_label("Name").fill("dora")
        other.get_by_label("Password", exact=True).fill("a-long-enough-word")
        other.get_by_label("Repeat password").fill("a-long-enough-word")
        other.get_by_role("button", name="Create account and join").click()
        expect(other.locator("main")).to_contain_text("You joined Alpha lab.")

        page.reload()
        assert Membership.objects.get(user__username="dora").role == "viewer"
        assert visit.errors + guest.errors == []


def test_tokens_can_be_created_copied_and_revoked(chromium, site):
    allowed = {"permissions": ["clipboard-read", "clipboard-write"]}
    with browser_site.window(chromium, site, color_scheme="dark", **allowed) as visit:
        page = visit.open("/labs/alpha-lab/tokens/")
        sign_in(page)
        page.get_by_role("combobox", name="Agent").fill("rack-7")
        page.get_by_role("button", name="Create token").click()
        page.get_by_role("button", name="Copy token").click()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == page.locator("#token-secret").inner_text()
        assert axe_violations(page) == []
        assert browser_site.violations(page) == []

        prefix = copied[3:13]
        page.get_by_label(f"Revoke vl_{prefix}").click()
        assert Token.objects.get(prefix=prefix).is_valid()
        page.get_by_role("button", name="Yes, revoke").click()
        expect(page.locator("main")).to_contain_text("was revoked")
        expect(page.locator("#token-secret")).to_have_count(0)
        assert not Token.objects.get(prefix=prefix).is_valid()
