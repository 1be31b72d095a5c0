"""Who is not signed in is led to the sign-in page, and back to where they were."""

from urllib.parse import parse_qs, urlsplit

import pytest

PUBLISH_VERSION = "/studies/alpha-lab/study/publish/"
FLAGS = "/studies/alpha-lab/study/flags/?status=all"


def led_back_to(answer):
    address = urlsplit(answer.headers.get("Location") or answer.headers["HX-Redirect"])
    assert address.path == "/login/"
    return parse_qs(address.query)["next"]


def test_a_page_is_come_back_to_with_its_query(client, db):
    assert led_back_to(client.get("/upload/?lab=alpha-lab")) == [
        "/upload/?lab=alpha-lab"
    ]


@pytest.mark.parametrize(
    ("referer", "page"),
    [
        (f"http://testserver{FLAGS}", FLAGS),
        ("https://evil.example/flags/", "/"),
        ("", "/"),
    ],
)
def test_a_form_leads_back_to_where_it_stands(client, db, referer, page):
    answer = client.post(
        "/flags/1/decide/", {"note": "x"}, headers={"referer": referer}
    )

    assert led_back_to(answer) == [page]


def test_a_part_of_a_page_leads_the_whole_page_there(client, db):
    answer = client.get("/rereads/1/", headers={"HX-Request": "true"})

    assert led_back_to(answer) == ["/rereads/1/"]
    assert answer.status_code == 200


def test_the_script_that_sends_files_keeps_its_page(client, db):
    answer = client.post("/upload/", headers={"X-Requested-With": "XMLHttpRequest"})

    assert answer.status_code == 401
    assert "you are signed out" in answer.text
    assert "<html" not in answer.text


@pytest.mark.parametrize("address", ["/glossary/", "/labs/?x=1", "/nowhere/"])
def test_every_page_offers_to_sign_in_and_come_back(client, db, address):
    page = client.get(address).text
    back = address.replace("?", "%3F").replace("=", "%3D")

    assert f'href="/login/?next={back}"' in page


def test_the_sign_in_page_does_not_lead_back_to_itself(client, db):
    assert 'href="/login/"' in client.get("/login/?next=/glossary/").text


def test_a_missing_page_offers_no_sign_in_to_who_is_in(client, person):
    assert "Its members see it once they sign in." in client.get("/nowhere/").text
    client.force_login(person)

    assert "Sign in" not in client.get("/nowhere/").text
