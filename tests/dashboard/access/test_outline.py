"""The markup of every page: names, heads and places that a screen reader goes by.

Without a browser, so it is cheap; what axe-core finds in one stands in `test_axe.py`.
"""

import re
from collections import Counter, defaultdict
from itertools import pairwise

import pytest
from django.conf import settings
from django.test import Client

from tests.dashboard import routes
from tests.dashboard.access.outline import NAMED, Element, read

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

ADDRESSES = [address for addresses in routes.PAGES.values() for address in addresses]
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
REFERENCES = ("aria-labelledby", "aria-describedby", "for", "popovertarget", "list")
SCOPES = {"row", "col", "rowgroup", "colgroup"}
LIVE = ("status", "alert", "log")
WORD = re.compile(r"\w")
REFUSED = {
    "/login/": {"username": "maintainer", "password": "wrong"},
    "/account/password/": {"new_password1": "a", "new_password2": "123"},
    "/account/sign-out-everywhere/": {"password": "wrong"},
    "/labs/alpha-lab/tokens/": {"agent": "no name", "days": "365"},
    "/labs/alpha-lab/members/": {"role": "viewer"},
    "/labs/alpha-lab/declare-tool/": {"slug": "Boot time", "metrics": "1"},
    f"{routes.XEN}plans/new/": {"title": "A plan", "repetitions": "0"},
}


@pytest.fixture(scope="module")
def pages(site, django_db_blocker) -> dict[str, Element]:
    """Every page as a maintainer gets it; the sign-in page as nobody does."""
    with django_db_blocker.unblock():
        return {
            address: read(who(site, address).get(site.address(address)).text)
            for address in ADDRESSES
        }


def who(site, address):
    """Return who asks: nobody signs in twice, and one lab has no list of labs."""
    client = Client()
    if address not in {"/login/", "/labs/"}:
        client.cookies[settings.SESSION_COOKIE_NAME] = site.sessions["maintainer"]
    return client


def wrong(pages, find):
    """Return what is found on each page, with the page."""
    return [f"{at}: {each}" for at, page in pages.items() for each in find(page)]


def shown(element):
    return f"<{element.tag} {element.given}> {element.text[:60]}"


def test_every_page_has_a_title_of_its_own(pages):
    titles = defaultdict(set)
    for address, page in pages.items():
        title = next(page.all("title")).text
        titles[title].add(address.partition("?")[0])

    assert {title: at for title, at in titles.items() if len(at) > 1} == {}


def test_headings_begin_with_one_and_leave_no_level_out(pages):
    def steps(page):
        levels = [int(each.tag[1]) for each in page.all(*HEADINGS)]
        if levels.count(1) != 1:
            yield f"{levels.count(1)} headings of level 1"
        for one, other in pairwise(levels):
            if other > one + 1:
                yield f"level {other} after {one}"

    assert wrong(pages, steps) == []


def test_every_table_has_a_name_and_heads(pages):
    def nameless(page):
        for table in page.all("table"):
            name = {"aria-label", "aria-labelledby"} & set(table.given)
            if not name and not any(each.text for each in table.all("caption")):
                yield f"no name: {shown(table)}"
            for head in table.all("th"):
                if head.given.get("scope") not in SCOPES or not WORD.search(head.text):
                    yield f"no head: {shown(head)}"

    assert wrong(pages, nameless) == []


def test_every_row_of_a_table_says_what_it_is_about(pages):
    def headless(page):
        for row in page.all("tr"):
            parts = [each for each in row.inside if isinstance(each, Element)]
            is_body = row.above and row.above.tag == "tbody"
            if is_body and len(parts) > 1 and "th" not in {each.tag for each in parts}:
                yield shown(row)

    assert wrong(pages, headless) == []


def test_ids_are_unique_and_what_refers_to_them_finds_them(pages):
    def lost(page):
        ids = Counter(each.given["id"] for each in page.all() if "id" in each.given)
        yield from (f"twice: {name}" for name, count in ids.items() if count > 1)
        for each in page.all():
            for name in REFERENCES:
                for wanted in each.given.get(name, "").split():
                    if wanted not in ids:
                        yield f"{name}={wanted}: {shown(each)}"

    assert wrong(pages, lost) == []


def test_only_what_has_a_role_has_a_name(pages):
    """The name of a bare span is heard by some readers and not by others."""

    def misnamed(page):
        for each in page.all():
            has_name = {"aria-label", "aria-labelledby"} & set(each.given)
            has_role = "role" in each.given or each.tag in NAMED
            if has_name and not has_role:
                yield shown(each)

    assert wrong(pages, misnamed) == []


def test_a_place_that_takes_the_focus_says_what_it_is(pages):
    def silent(page):
        for each in page.all():
            is_named = {"aria-label", "aria-labelledby"} & set(each.given)
            if each.given.get("tabindex") == "0" and not (
                "role" in each.given and is_named
            ):
                yield shown(each)

    assert wrong(pages, silent) == []


def test_what_renews_itself_is_not_read_out_whole(pages):
    """A live region that is replaced is heard over and over, or not at all."""

    def noisy(page):
        for each in page.all():
            is_live = each.given.get("role") in LIVE or "aria-live" in each.given
            timers = (at.given.get("hx-trigger", "") for at in each.path())
            polled = any("every" in timer for timer in timers)
            if is_live and polled:
                yield shown(each)

    assert wrong(pages, noisy) == []


def test_links_of_one_text_lead_to_one_place(pages):
    """Out of a list of links; in a grid the heads of row and column say the rest."""

    def ambiguous(page):
        places = defaultdict(set)
        for link in page.all("a"):
            if not in_grid(link):
                places[link.text].add(link.given.get("href"))
        for text, led in places.items():
            if len(led) > 1 or not WORD.search(text) or text.isdecimal():
                yield f"{text!r} leads to {sorted(map(str, led))[:3]}"

    assert wrong(pages, ambiguous) == []


def in_grid(link):
    tables = {"data-grid", "direct-table", "across-table"}
    at = {each.given.get("class", "") for each in link.path()}
    return any("data-grid" in each.given for each in link.path()) or any(
        tables & set(each.split()) for each in at
    )


def test_signs_are_drawn_and_not_said(pages):
    """What stands alone as a sign is either hidden or has a word beside it."""

    def signs(page):
        for each in page.all("a", "button", "th", "dt", "summary", "label", *HEADINGS):
            if each.text and not WORD.search(each.text):
                yield shown(each)

    assert wrong(pages, signs) == []


@pytest.mark.parametrize(("address", "fields"), REFUSED.items(), ids=REFUSED)
def test_a_refused_form_says_which_field_is_wrong_and_why(site, address, fields):
    page = read(who(site, address).post(address, fields).text)
    ids = {each.given["id"]: each for each in page.all() if "id" in each.given}
    names = {each.given["name"]: each for each in page.all() if "name" in each.given}

    marked = [
        ids[next(filter(None, described)).split()[-1]].text
        for each in page.all()
        if each.given.get("aria-invalid")
        for described in [[at.given.get("aria-describedby") for at in each.path()]]
    ]
    told = [each for each in page.all() if each.given.get("data-wrong")]
    assert all(marked)
    assert marked or [names[each.given["data-wrong"]] for each in told]
    assert next(page.all("title")).text.startswith("Not accepted:")
