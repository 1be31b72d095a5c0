"""Pages and answers leave compressed, for those who accept it."""

import gzip

import pytest
from django.http import FileResponse, HttpResponse
from django.test import RequestFactory

from config.middleware import compressed, compression

TEXT = "what a hypervisor costs " * 100


def answered(response, accept="gzip, br"):
    request = RequestFactory().get("/", headers={"accept-encoding": accept})
    return compression(lambda _request: response)(request)


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/json"])
def test_a_text_is_compressed_and_says_so(kind):
    answer = answered(HttpResponse(TEXT, content_type=kind))

    assert answer["Content-Encoding"] == "gzip"
    assert answer["Vary"] == "Accept-Encoding"
    assert int(answer["Content-Length"]) == len(answer.content) < len(TEXT)
    assert gzip.decompress(answer.content).decode() == TEXT


@pytest.mark.parametrize(
    "accept", ["", "br", "identity", "gzip;q=0", "br, gzip; q=0.0"]
)
def test_who_does_not_accept_it_gets_it_plain(accept):
    answer = answered(HttpResponse(TEXT), accept)

    assert "Content-Encoding" not in answer
    assert answer["Vary"] == "Accept-Encoding"
    assert answer.content.decode() == TEXT


def test_gzip_among_others_is_accepted():
    assert "Content-Encoding" in answered(HttpResponse(TEXT), "br;q=1, gzip;q=0.5")


@pytest.mark.parametrize(
    "response",
    [
        HttpResponse("short"),
        HttpResponse(TEXT, content_type="application/pdf"),
        HttpResponse(TEXT, headers={"Content-Encoding": "br"}),
        FileResponse(iter([TEXT.encode()]), content_type="text/plain"),
    ],
    ids=["short", "a PDF", "compressed already", "a stream"],
)
def test_what_would_gain_nothing_stays_as_it_is(response):
    before = dict(response.items())

    assert dict(answered(response).items()) == before


def test_a_strong_mark_of_the_content_becomes_a_weak_one():
    answer = answered(HttpResponse(TEXT, headers={"ETag": '"1"'}))

    assert answer["ETag"] == 'W/"1"'


def test_the_same_text_is_not_always_as_long():
    lengths = {len(compressed(TEXT.encode())) for _ in range(50)}

    assert len(lengths) > 10


def test_pages_and_answers_of_the_product_are_compressed(client, db):
    for address in ("/", "/api/v1/schema/"):
        answer = client.get(address, headers={"accept-encoding": "gzip"})
        assert answer["Content-Encoding"] == "gzip", address
