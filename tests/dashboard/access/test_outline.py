"""The markup of every page as screen readers use it.

Without a browser, and therefore fast; `test_axe.py` runs axe-core in a browser.
"""

import re
from collections import Counter, defaultdict
from itertools import pairwise

import pytest
from django.conf import settings
from django.test import Client

from tests.dashboard import routes
from tests.dashboard.access.element_tree import NAMED, Element, read

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
    "/labs/alpha-lab/new-custom-tool/": {"slug": "Boot time", "metrics": "1"},
    f"{routes.XEN_STUDY}plans/new/": {"title": "A plan", "repetitions": "0"},
}


@pytest.fixture(scope="module")
def pages(site, django_db_blocker) -> dict[str, Element]:
    """Return every page as sent to a maintainer; the sign-in page as to a stranger."""
    with django_db_blocker.unblock():
        return {
            address: read(client_for(site, address).get(site.address(address)).text)
            for address in ADDRESSES
        }


def client_for(site, address):
    """Return a maintainer's client, or a stranger's if maintainers are redirected."""
    client = Client()
    if address not in {"/login/", "/labs/"}:
        client.cookies[settings.SESSION_COOKIE_NAME] = site.sessions["maintainer"]
    return client


def findings(pages, find):
    """Return what ``find`` yields for each page, with the URL of the page."""
    return [f"{at}: {each}" for at, page in pages.items() for each in find(page)]


def shown(element):
    return f"<{element.tag} {element.given}> {element.text[:60]}"


def test_every_page_has_unique_title(pages):
    titles = defaultdict(set)
    for address, page in pages.items():
        title = next(page.all("title")).text
        titles[title].add(address.partition("?")[0])

    assert {title: at for title, at in titles.items() if len(at) > 1} == {}


def test_headings_start_at_h1_and_skip_no_level(pages):
    def steps(page):
        levels = [int(each.tag[1]) for each in page.all(*HEADINGS)]
        if levels.count(1) != 1:
            yield f"{levels.count(1)} headings of level 1"
        for one, other in pairwise(levels):
            if other > one + 1:
                yield f"level {other} after {one}"

    assert findings(pages, steps) == []


def test_every_table_has_name_and_headers(pages):
    def nameless(page):
        for table in page.all("table"):
            name = {"aria-label", "aria-labelledby"} & set(table.given)
            if not name and not any(each.text for each in table.all("caption")):
                yield f"no name: {shown(table)}"
            for head in table.all("th"):
                if head.given.get("scope") not in SCOPES or not WORD.search(head.text):
                    yield f"no head: {shown(head)}"

    assert findings(pages, nameless) == []


def test_every_table_row_has_header(pages):
    def headless(page):
        for row in page.all("tr"):
            parts = [each for each in row.inside if isinstance(each, Element)]
            is_body = row.above and row.above.tag == "tbody"
            if is_body and len(parts) > 1 and "th" not in {each.tag for each in parts}:
                yield shown(row)

    assert findings(pages, headless) == []


def test_ids_are_unique_and_references_resolve(pages):
    def lost(page):
        ids = Counter(each.given["id"] for each in page.all() if "id" in each.given)
        yield from (f"twice: {name}" for name, count in ids.items() if count > 1)
        for each in page.all():
            for name in REFERENCES:
                for wanted in each.given.get(name, "").split():
                    if wanted not in ids:
                        yield f"{name}={wanted}: {shown(each)}"

    assert findings(pages, lost) == []


def test_only_elements_with_role_have_name(pages):
    """Only some screen readers announce the name of an element without a role."""

    def misnamed(page):
        for each in page.all():
            has_name = {"aria-label", "aria-labelledby"} & set(each.given)
            has_role = "role" in each.given or each.tag in NAMED
            if has_name and not has_role:
                yield shown(each)

    assert findings(pages, misnamed) == []


def test_focusable_elements_have_role_and_name(pages):
    def silent(page):
        for each in page.all():
            is_named = {"aria-label", "aria-labelledby"} & set(each.given)
            if each.given.get("tabindex") == "0" and not (
                "role" in each.given and is_named
            ):
                yield shown(each)

    assert findings(pages, silent) == []


def test_updated_regions_are_not_live(pages):
    """A live region that is replaced is announced repeatedly, or not at all."""

    def noisy(page):
        for each in page.all():
            is_live = each.given.get("role") in LIVE or "aria-live" in each.given
            timers = (at.given.get("hx-trigger", "") for at in each.path())
            polled = any("every" in timer for timer in timers)
            if is_live and polled:
                yield shown(each)

    assert findings(pages, noisy) == []


def test_links_with_equal_text_have_equal_target(pages):
    """Grids are excluded: headers of rows and columns distinguish their links."""

    def ambiguous(page):
        places = defaultdict(set)
        for link in page.all("a"):
            if not in_grid(link):
                places[link.text].add(link.given.get("href"))
        for text, led in places.items():
            if len(led) > 1 or not WORD.search(text) or text.isdecimal():
                yield f"{text!r} leads to {sorted(map(str, led))[:3]}"

    assert findings(pages, ambiguous) == []


def in_grid(link):
    tables = {"data-grid", "system-pair-table", "cross-study-table"}
    at = {each.given.get("class", "") for each in link.path()}
    return any("data-grid" in each.given for each in link.path()) or any(
        tables & set(each.split()) for each in at
    )


def test_symbols_are_hidden_from_screen_readers(pages):
    """A symbol on its own is either hidden or has a text."""

    def signs(page):
        for each in page.all("a", "button", "th", "dt", "summary", "label", *HEADINGS):
            if each.text and not WORD.search(each.text):
                yield shown(each)

    assert findings(pages, signs) == []


@pytest.mark.parametrize(("address", "fields"), REFUSED.items(), ids=REFUSED)
def test_rejected_form_marks_invalid_field(site, address, fields):
    page = read(client_for(site, address).post(address, fields).text)
    ids = {each.given["id"]: each for each in page.all() if "id" in each.given}
    names = {each.given["name"]: each for each in page.all() if "name" in each.given}

    marked = [
        ids[next(filter(None, described)).split()[-1]].text
        for each in page.all()
        if each.given.get("aria-invalid")
        for described in [[at.given.get("aria-describedby") for at in each.path()]]
    ]
    told = [each for each in page.all() if each.given.get("data-invalid-field")]
    assert all(marked)
    assert marked or [names[each.given["data-invalid-field"]] for each in told]
    assert next(page.all("title")).text.startswith("Error:")
