"""The data page: what there is, and where its files are."""

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


def test_it_says_how_much_there_is_of_every_table(page, pair):
    assert rows(page()) == [1, 2, 2, 2, 2]


def test_it_leads_to_the_files_of_what_was_chosen(client, page, pair):
    text = page(hypervisor="xen", study="alpha-lab/study", since="")

    assert rows(text) == [1, 1, 1, 1, 1]
    files = re.findall(r'href="(/api/v1/data/cells/\w+/\?[^"]*)"', text)
    assert len(files) == 3
    for address in files:
        assert client.get(address.replace("&amp;", "&")).getvalue()


def test_a_tool_is_known_by_its_title(page, pair):
    assert rows(page(tool="Iometer")) == [1, 2, 2, 2, 2]
    assert rows(page(tool="hdparm")) == [0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "fields",
    [{"until": "never"}, {"until": "9999-12-31"}, {"tool": "nonsense"}, {"study": "x"}],
)
def test_what_means_nothing_is_said_at_its_field(page, pair, fields):
    assert "field-error" in page(**fields)


def test_a_private_study_is_offered_to_its_lab_alone(
    client, page, person, private_study
):
    assert private_study.title not in page()

    client.force_login(person)

    assert private_study.title in page()


@pytest.mark.parametrize(
    ("given", "shown"), [("2026-11-23", ' value="2026-11-23"'), ("never", "")]
)
def test_a_day_is_given_back_only_where_it_is_one(text, db, given, shown):
    page = text(f"/data/?until={given}")

    (field,) = re.findall(r'<input type="date" name="until"[^>]*>', page)
    assert re.findall(r' value="[^"]*"', field) == ([shown] if shown else [])
