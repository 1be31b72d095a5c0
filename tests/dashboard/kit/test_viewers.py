"""Anonymous users are redirected to the sign-in page and back."""

from urllib.parse import parse_qs, urlsplit

import pytest

PUBLISH_VERSION = "/studies/alpha-lab/study/publish/"
FLAGS = "/studies/alpha-lab/study/flags/?status=all"


def return_url(answer):
    address = urlsplit(answer.headers.get("Location") or answer.headers["HX-Redirect"])
    assert address.path == "/login/"
    return parse_qs(address.query)["next"]


def test_sign_in_returns_to_the_page_with_its_query(client, db):
    assert return_url(client.get("/upload/?lab=alpha-lab")) == [
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
def test_sign_in_returns_to_the_page_of_a_form(client, db, referer, page):
    answer = client.post(
        "/flags/1/decide/", {"note": "x"}, headers={"referer": referer}
    )

    assert return_url(answer) == [page]


def test_fragments_redirect_the_whole_page(client, db):
    answer = client.get("/reparses/1/", headers={"HX-Request": "true"})

    assert return_url(answer) == ["/reparses/1/"]
    assert answer.status_code == 200


def test_upload_requests_keep_their_page(client, db):
    answer = client.post("/upload/", headers={"X-Requested-With": "XMLHttpRequest"})

    assert answer.status_code == 401
    assert "you are signed out" in answer.text
    assert "<html" not in answer.text


@pytest.mark.parametrize("address", ["/glossary/", "/labs/?x=1", "/nowhere/"])
def test_pages_link_to_sign_in_with_return_url(client, db, address):
    page = client.get(address).text
    back = address.replace("?", "%3F").replace("=", "%3D")

    assert f'href="/login/?next={back}"' in page


def test_sign_in_does_not_return_to_itself(client, db):
    assert 'href="/login/"' in client.get("/login/?next=/glossary/").text


def test_a_404_page_shows_no_sign_in_to_signed_in_users(client, person):
    assert (
        "Members of the lab can see it after signing in."
        in client.get("/nowhere/").text
    )
    client.force_login(person)

    assert "Sign in" not in client.get("/nowhere/").text
