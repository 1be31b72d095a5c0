"""Limits on requests: size, time in PostgreSQL, and sharing between clients."""

from ipaddress import ip_network

import pytest
from django.contrib.auth import get_user_model
from django.core.wsgi import get_wsgi_application
from django.db import OperationalError, connection
from django.test import Client, RequestFactory

from config import middleware
from config.client_addresses import client_address

CODECS = ("idna", "base64", "nonsense", "utf-7")


@pytest.mark.parametrize("host", ["testserver:4711", "testserver:99"])
@pytest.mark.parametrize("path", ["/", "/api/v1/studies/"])
def test_unknown_port_is_refused(db, client, host, path):
    answer = client.get(path, headers={"host": host})

    assert answer.status_code == 400
    assert host.partition(":")[2] not in answer.text


def test_proxy_port_is_allowed_by_settings(db, client, settings):
    settings.ALLOWED_PORTS = ["4711"]

    assert client.get("/", headers={"host": "testserver:4711"}).status_code == 200


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("path", ["/login/", "/invitation/", "/api/v1/parse/"])
def test_form_cannot_choose_a_codec(db, path, codec):
    """Python's idna codec cannot decode bytes as Django asks: this was a 500."""
    client = Client(raise_request_exception=False)
    kind = f"multipart/form-data; boundary=a; charset={codec}"
    body = (
        b'--a\r\nContent-Disposition: form-data; name="username"\r\n\r\nq\r\n--a--\r\n'
    )

    answer = client.generic("POST", path, body, content_type=kind)

    assert answer.status_code == 415


@pytest.mark.parametrize(
    "kind",
    [f"text/plain; charset={codec}" for codec in CODECS] + ["a/b; charset*=x'y'z"],
)
def test_url_is_not_decoded_with_the_requests_codec(db, kind):
    """Django decodes the URL before any middleware: `idna` was a 500."""
    environ = (
        RequestFactory().get("/labs/", {"show": "=1+1"}, content_type=kind).environ
    )
    environ |= {"HTTP_HOST": "testserver", "CONTENT_TYPE": kind}
    statuses = []

    application = middleware.replace_unknown_charsets(get_wsgi_application())
    b"".join(application(environ, lambda status, _headers: statuses.append(status)))

    assert statuses == ["415 Unsupported Media Type"]


@pytest.mark.parametrize("method", ["options", "put", "delete", "trace"])
@pytest.mark.parametrize("path", ["/", "/login/", "/upload/", "/api/v1/runs/"])
def test_other_methods_are_refused(db, method, path):
    answer = getattr(Client(raise_request_exception=False), method)(path)

    assert answer.status_code < 500


ADDRESSES = (
    "/",
    "/login/",
    "/static/x.css",
    "/nothing",
    "/metrics",
    "/feed.atom",
    "/api/v1/studies/",
    "/api/v1/runs/",
    "/api/v1/nothing/",
)
QUERIES = {
    "&".join(f"a{n}" for n in range(1_001)): "1,000 query parameters",
    "&" * 1_000: "1,000 query parameters",
    "q=" + "x" * 8_191: "8,192 bytes",
}


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("method", ["get", "head", "post", "options"])
def test_long_queries_are_refused_at_every_address(db, method, query):
    """Reading the parameters raised in the error page too: a 500 with a traceback."""
    client = Client(raise_request_exception=False)
    for address in ADDRESSES:
        answer = getattr(client, method)(f"{address}?{query}")

        assert answer.status_code == 400, address
        if method != "head" and address.startswith("/api/"):
            assert list(answer.json()) == ["code", "detail", "fields"]
        if method != "head":
            assert QUERIES[query] in answer.text


def test_queries_up_to_the_limits_are_read(db, client):
    assert client.get(f"/?{'&'.join(f'a{n}' for n in range(1_000))}").status_code == 200
    assert client.get(f"/?q={'x' * 8_190}").status_code == 200


@pytest.mark.parametrize(
    ("body", "limit"),
    [("&".join(f"a{n}=" for n in range(1_001)), 1_000), (f"a={'x' * 2**22}", 2**20)],
)
@pytest.mark.parametrize("path", ["/login/", "/invitation/", "/subscriptions/follow/"])
def test_large_forms_get_a_sentence(db, person, path, body, limit, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 2**20
    client = Client(raise_request_exception=False)
    client.force_login(person)

    answer = client.post(path, body, content_type="application/x-www-form-urlencoded")

    assert answer.status_code == 400
    assert f"at most {limit}" in answer.text.replace(",", "")


def test_user_responses_are_private(db, client):
    client.force_login(get_user_model().objects.create_user("dora"))

    assert "private" in client.get("/")["Cache-Control"]
    assert "private" in client.get("/api/v1/studies/")["Cache-Control"]


def test_agent_responses_are_private(client, read_token):
    headers = {"authorization": f"Token {read_token}"}

    answer = client.get("/api/v1/studies/", headers=headers)

    assert "private" in answer["Cache-Control"]


@pytest.fixture
def bounded(db, settings):
    settings.WEB_STATEMENT_TIMEOUT_S, settings.WEB_LOCK_TIMEOUT_S = 7, 3
    middleware._set_timeouts(connection)
    yield
    with connection.cursor() as cursor:
        cursor.execute("RESET statement_timeout")
        cursor.execute("RESET lock_timeout")


def test_statements_of_requests_time_out(bounded):
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("7s",)
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("3s",)


class Slow:
    """A statement that PostgreSQL cancels."""

    def __init__(self, *args, **kwargs):
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = '20ms'")
            cursor.execute("SELECT pg_sleep(5)")


def gone(*args, **kwargs):
    raise OperationalError("the connection was closed")


@pytest.mark.parametrize(
    ("trouble", "sentence"),
    [(Slow, "This took too long"), (gone, "The database is not responding")],
)
def test_page_is_503_without_the_database(db, monkeypatch, trouble, sentence):
    monkeypatch.setattr("dashboard.pages.labs.views.labs_with_counts", trouble)

    answer = Client().get("/labs/")

    assert answer.status_code == 503
    assert sentence in answer.text
    assert int(answer["Retry-After"]) > 0
    assert answer["Cache-Control"] == "no-store"


def test_failure_before_a_view_is_503(db, monkeypatch):
    monkeypatch.setattr("django.contrib.sessions.backends.db.SessionStore.load", gone)
    client = Client(raise_request_exception=False)
    client.cookies["sessionid"] = "of-somebody"

    answer = client.get("/account/")

    assert answer.status_code == 503
    assert "The database is not responding" in answer.text


@pytest.mark.parametrize(
    ("trouble", "code"), [(Slow, "query_timeout"), (gone, "database_unavailable")]
)
def test_api_is_503_without_the_database(db, monkeypatch, trouble, code):
    monkeypatch.setattr("api.studies.lookup.list_studies", trouble)

    answer = Client().get("/api/v1/studies/")

    assert (answer.status_code, answer.json()["code"]) == (503, code)
    assert int(answer["Retry-After"]) > 0


@pytest.mark.parametrize("trusted", ["127.0.0.1", "127.0.0.0/8"])
def test_trusted_proxy_states_the_clients_address(settings, trusted):
    settings.TRUSTED_PROXIES = [ip_network(trusted)]
    forwarded = "203.0.113.9, 198.51.100.7"

    assert client_address("127.0.0.1", forwarded) == "198.51.100.7"
    settings.TRUSTED_PROXIES = []
    assert client_address("127.0.0.1", forwarded) == "127.0.0.1"
