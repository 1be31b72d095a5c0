"""Pages read from a real standby, which streams from a copy of the tests' server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.db import connection, connections
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from benchmarks import replica
from benchmarks.health import check_health
from benchmarks.labs import tokens
from benchmarks.maintenance.doctor import diagnose
from benchmarks.models import Lab, Study
from config import replica_middleware
from running.postgres import Postgres
from tests.compose_stack import wait_for
from tests.standby import Copy, Standby, server_of_tests

NEW = {
    "title": "Their own",
    "data_licence": "CC-BY-4.0",
    "visibility": "public",
    "equivalence_margin_percent": "3",
    "baseline_max_age_days": "30",
}
pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "replica"])


@pytest.fixture(scope="module")
def primary(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None
) -> Iterator[Postgres]:
    """A copy of the tests' server, used as the product's database in this module."""
    copy = Copy(tmp_path_factory.mktemp("primary"), server_of_tests())
    session: Any = connection
    own, was = session.settings_dict, server_of_tests().socket_folder
    folder = copy.server.socket_folder
    with copy.running(), pytest.MonkeyPatch.context() as patch:
        owner = settings.OWNER_DATABASE_URL.replace(quoted(was), quoted(folder))
        assert quoted(folder) in owner
        patch.setattr(settings, "OWNER_DATABASE_URL", owner)
        connection.close()
        session.settings_dict = {**own, "HOST": str(folder)}
        yield copy.server
        connection.close()
        session.settings_dict = own


def quoted(folder: Path) -> str:
    return quote(str(folder), safe="")


@pytest.fixture(scope="module", autouse=True)
def standby(
    tmp_path_factory: pytest.TempPathFactory, primary: Postgres
) -> Iterator[Standby]:
    """A standby of the primary, configured as replica."""
    made = Standby(tmp_path_factory.mktemp("standby"), primary)
    own = connection.settings_dict
    # Django flushes every database that is not a mirror after each test.
    mirror = {**own["TEST"], "MIRROR": "default"}
    host = str(made.server.socket_folder)
    # As REPLICA_DATABASE_URL does.
    replica_settings = {**own, "HOST": host, "OPTIONS": {}, "TEST": mirror}
    with made.running():
        connections.databases["replica"] = replica_settings
        yield made
        connections["replica"].close()
        del connections["replica"], connections.databases["replica"]


@pytest.fixture(autouse=True)
def near(monkeypatch: Any) -> None:
    """A standby that is up to date, and not yet checked by any request."""
    monkeypatch.setattr(replica, "_last_check", replica._ReplicaCheck())
    wait_until_there()


@pytest.fixture
def still(standby: Standby, study: Study) -> Iterator[None]:
    """A standby that has the study, with replay paused."""
    wait_until_there()
    standby.hold(is_held=True)
    yield
    standby.hold(is_held=False)
    wait_until_there()


def wait_until_there() -> None:
    position = replica.current_lsn()

    def is_there() -> bool:
        replica._last_check.valid_until = 0.0
        return replica.can_serve_reads(position)

    wait_for(is_there)


def publish(lab: Lab, title: str) -> None:
    public = Study.Visibility.PUBLIC
    Study.objects.create(lab=lab, slug="later", title=title, visibility=public)


def overview(client: Client) -> str:
    answer = client.get("/")
    assert answer.status_code == 200
    return answer.content.decode()


def studies(client: Client, token: str) -> str:
    headers = {"Authorization": f"Token {token}"}
    answer = client.get("/api/v1/data/studies/csv/", headers=headers)
    assert answer.status_code == 200, answer.content
    return b"".join(answer).decode()


def create(client: Client, token: str) -> None:
    answer = client.post(
        "/api/v1/studies/",
        {"slug": "own", "title": "Their own", "visibility": "public"},
        content_type="application/json",
        headers={"Authorization": f"Token {token}"},
    )
    assert answer.status_code == 201, answer.content


def test_pages_are_read_from_the_standby(still, lab):
    publish(lab, "Published later")

    assert "Published later" not in overview(Client())


def test_replayed_changes_are_shown(standby, lab):
    publish(lab, "Published later")
    wait_until_there()

    assert "Published later" in overview(Client())


def test_exports_are_read_from_the_standby(still, lab, read_token):
    publish(lab, "Published later")

    assert "Published later" not in studies(Client(), read_token)


def test_client_reads_its_own_token_write(still, token, other_token):
    create(Client(), token)

    assert "Their own" in studies(Client(), token)
    assert "Their own" not in studies(Client(), other_token)


def test_user_reads_their_own_write_in_every_browser(still, lab, person):
    one, other = Client(), Client()
    one.force_login(person)
    other.force_login(person)
    assert one.post("/studies/new/", NEW).status_code == 302

    assert "Their own" in overview(one)
    assert "Their own" in overview(other)
    assert "Their own" not in overview(Client())


def test_cookie_remembers_the_write_without_redis(still, lab, person, valkey):
    client = Client()
    client.force_login(person)
    client.post("/studies/new/", NEW)
    valkey.flushdb()

    assert "Their own" in overview(client)


def test_revoked_token_is_refused_at_once(still, agent, read_token):
    studies(Client(), read_token)
    tokens.revoke_token(token=agent.tokens.get(can_read=True))
    headers = {"Authorization": f"Token {read_token}"}

    assert Client().get("/api/v1/data/", headers=headers).status_code == 401


def test_lost_standby_is_replaced_by_the_primary(standby, lab):
    client = Client()
    overview(client)
    standby.stop()
    try:
        publish(lab, "Published later")

        assert "Published later" in overview(client)
        state = check_health()
        problems = {result.check: result.problem for result in diagnose()}
    finally:
        standby.resume()
    assert (state.status, state.replica and state.replica.is_in_use) == (
        "degraded",
        False,
    )
    assert "is not responding" in problems["the standby"]


def test_standby_far_behind_is_not_read(still, lab, settings):
    settings.REPLICA_MAX_LAG_S = 0
    publish(lab, "Published later")
    replica._last_check.valid_until = 0.0

    assert "Published later" in overview(Client())


def test_lag_is_shown(still, lab):
    publish(lab, "Published later")

    behind = check_health().replica
    answer = Client().get("/api/v1/health/").json()["replica"]

    assert behind is not None
    assert behind.lag_bytes
    assert behind.lag_s is not None
    assert answer["lag_bytes"] > 0


def test_server_that_is_not_a_standby_is_not_read(monkeypatch):
    own = connection.settings_dict
    for name in ("HOST", "OPTIONS"):
        monkeypatch.setitem(connections["replica"].settings_dict, name, own[name])
    connections["replica"].close()
    replica._last_check.valid_until = 0.0

    assert "not a standby" in replica.lag().problem
    assert not replica.can_serve_reads(None)
    connections["replica"].close()


def test_writing_page_is_answered_by_the_primary(lab):
    def view(request: HttpRequest) -> HttpResponse:
        publish(lab, "Written by a page")
        return HttpResponse("written")

    request = RequestFactory().get("/")
    request.user = type("Nobody", (), {"is_authenticated": False})()
    answer = replica_middleware.read_from_replica(convert_exception_to_response(view))(
        request
    )

    assert answer.content == b"written"
    assert Study.objects.filter(title="Written by a page").count() == 1


def test_replica_context_is_per_thread():
    with replica.from_replica():
        assert connection.alias == "replica"
        with replica.from_primary():
            assert connection.alias == "default"
        assert connection.alias == "replica"
    assert connection.alias == "default"
