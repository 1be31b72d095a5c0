"""The data page: tables and links to files."""

import re

import pytest

ROWS = re.compile(r"([\d,]+)\s+rows?\b")


@pytest.fixture
def page(client):
    """Return the page for these fields."""

    def asked(**fields):
        answer = client.get("/data/", fields)
        assert answer.status_code == 200
        return answer.content.decode()

    return asked


def rows(page):
    return [int(found) for found in ROWS.findall(page)]


def test_shows_row_count_of_every_table(page, pair):
    assert rows(page()) == [1, 2, 2, 2, 2]


def test_links_to_filtered_files(client, page, pair):
    text = page(hypervisor="xen", study="alpha-lab/study", since="")

    assert rows(text) == [1, 1, 1, 1, 1]
    files = re.findall(r'href="(/api/v1/data/cells/\w+/\?[^"]*)"', text)
    assert len(files) == 3
    for address in files:
        assert client.get(address.replace("&amp;", "&")).getvalue()


def test_tool_is_shown_by_title(page, pair):
    assert rows(page(tool="Iometer")) == [1, 2, 2, 2, 2]
    assert rows(page(tool="hdparm")) == [0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "fields",
    [{"until": "never"}, {"until": "9999-12-31"}, {"tool": "nonsense"}, {"study": "x"}],
)
def test_invalid_filter_has_error_at_field(page, pair, fields):
    assert "field-error" in page(**fields)


def test_private_study_is_offered_to_own_lab(client, page, person, private_study):
    assert private_study.title not in page()

    client.force_login(person)

    assert private_study.title in page()


@pytest.mark.parametrize(
    ("given", "shown"), [("2026-11-23", ' value="2026-11-23"'), ("never", "")]
)
def test_only_valid_day_is_redisplayed(text, db, given, shown):
    page = text(f"/data/?until={given}")

    (field,) = re.findall(r'<input type="date" name="until"[^>]*>', page)
    assert re.findall(r' value="[^"]*"', field) == ([shown] if shown else [])
