"""Pages and API responses are compressed for clients that accept it."""

import gzip

import pytest
from django.http import FileResponse, HttpResponse
from django.test import RequestFactory

from config.middleware import compressed, compression

TEXT = "cost of hypervisors" * 100


def response_to(response, accept="gzip, br"):
    request = RequestFactory().get("/", headers={"accept-encoding": accept})
    return compression(lambda _request: response)(request)


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/json"])
def test_text_is_compressed_with_a_header(kind):
    answer = response_to(HttpResponse(TEXT, content_type=kind))

    assert answer["Content-Encoding"] == "gzip"
    assert answer["Vary"] == "Accept-Encoding"
    assert int(answer["Content-Length"]) == len(answer.content) < len(TEXT)
    assert gzip.decompress(answer.content).decode() == TEXT


@pytest.mark.parametrize(
    "accept", ["", "br", "identity", "gzip;q=0", "br, gzip; q=0.0"]
)
def test_client_without_gzip_gets_plain_text(accept):
    answer = response_to(HttpResponse(TEXT), accept)

    assert "Content-Encoding" not in answer
    assert answer["Vary"] == "Accept-Encoding"
    assert answer.content.decode() == TEXT


def test_gzip_among_other_encodings_is_used():
    assert "Content-Encoding" in response_to(HttpResponse(TEXT), "br;q=1, gzip;q=0.5")


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
def test_incompressible_responses_are_unchanged(response):
    before = dict(response.items())

    assert dict(response_to(response).items()) == before


def test_strong_etag_becomes_weak():
    answer = response_to(HttpResponse(TEXT, headers={"ETag": '"1"'}))

    assert answer["ETag"] == 'W/"1"'


def test_length_of_the_same_text_varies():
    lengths = {len(compressed(TEXT.encode())) for _ in range(50)}

    assert len(lengths) > 10


def test_pages_and_api_responses_are_compressed(client, db):
    for address in ("/", "/api/v1/schema/"):
        answer = client.get(address, headers={"accept-encoding": "gzip"})
        assert answer["Content-Encoding"] == "gzip", address
