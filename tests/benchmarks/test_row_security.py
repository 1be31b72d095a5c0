"""Row-level security: what a forgotten filter shows, and that no table is forgotten."""

import psycopg
import pytest
from django.apps import apps
from django.db import ProgrammingError, connection, models, transaction
from django.urls import reverse

from benchmarks import row_security, sight
from benchmarks.models import (
    AuditEntry,
    Cell,
    Efficiency,
    Flag,
    Host,
    Membership,
    Run,
    RunMean,
    Sample,
    Study,
    System,
)

# Of what an upload to a study makes, all that a page might show.
SHOWN = (Study, Host, System, Run, Sample, RunMean, Cell, Efficiency)
OURS = apps.get_app_config("benchmarks")


@pytest.fixture
def private(submit, run_document, private_study):
    """A private study with a result, and one of another lab beside it."""
    submit(run_document(study=private_study.slug))
    return private_study


def settings_of_session() -> tuple[str, str]:
    with psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(
            "SELECT current_setting('virtlab.labs', true),"
            " current_setting('virtlab.studies', true)"
        )
        return cursor.fetchone() or ("", "")


def set_in_session(said: str | None) -> None:
    """Set it behind the back of all that sets it, as another program would."""
    with psycopg.Cursor(connection.connection) as cursor:
        cursor.execute("SET ROLE NONE")
        for name in ("labs", "person", "studies", "clear", "systems", "hosts"):
            cursor.execute(
                "SELECT set_config(%s, %s, false)", [f"virtlab.{name}", said]
            )


def count_rows() -> dict[str, int]:
    found = {}
    with psycopg.Cursor(connection.connection) as cursor:
        for model in SHOWN:
            cursor.execute(f"SELECT count(*) FROM {model._meta.db_table}")
            [found[model.__name__]] = cursor.fetchone() or (0,)
    return found


def test_the_tests_run_as_a_role_that_is_bound(db):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rolsuper OR rolbypassrls OR rolcreatedb FROM pg_roles"
            " WHERE rolname = session_user"
        )
        assert cursor.fetchone() == (False,)

    assert row_security.is_enforced()
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone() == (sight.ALL_SEEING,)


def test_every_table_has_a_policy_or_a_reason_why_not(db):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relrowsecurity AND EXISTS"
            " (SELECT FROM pg_policy WHERE polrelid = pg_class.oid)"
        )
        secured = {name for (name,) in cursor.fetchall()}

    every = set(OURS.get_models(include_auto_created=True))
    assert {model._meta.db_table for model in every - row_security.OPEN.keys()} == (
        secured
    )
    assert all(row_security.OPEN.values())


def test_a_table_that_says_of_nothing_whose_it_is_is_refused():
    class Loose(models.Model):
        name = models.TextField()

        class Meta:
            app_label = "elsewhere"

    with pytest.raises(TypeError, match="Nothing says who sees a row of Loose"):
        row_security.rule_of(Loose)


def test_a_session_that_was_told_nothing_is_shown_nothing(private, study):
    assert 0 not in count_rows().values()

    for said in (None, ""):
        set_in_session(said)

        assert set(count_rows().values()) == {0}


def test_each_sight_is_shown_its_own_and_what_is_public(private, study, other_lab):
    sight.see_labs()
    assert list(Study.objects.all()) == [study]
    assert not Cell.objects.exists()
    assert not Sample.objects.exists()

    sight.see_labs(other_lab.pk)
    assert list(Study.objects.all()) == [study]

    sight.see_labs(private.lab_id)
    assert set(Study.objects.all()) == {study, private}
    assert Sample.objects.exists()


def test_what_is_shared_is_seen_by_that_lab_alone(private, other_lab):
    Study.objects.filter(pk=private.pk).update(visibility=Study.Visibility.SHARED)
    private.shared_with.add(other_lab)

    sight.see_labs()
    assert not Study.objects.filter(pk=private.pk).exists()

    sight.see_labs(other_lab.pk)
    assert Study.objects.filter(pk=private.pk).exists()
    assert 0 not in count_rows().values()


def test_a_person_sees_what_their_labs_see(private, person, django_user_model):
    stranger = django_user_model.objects.create_user("mallory")

    sight.see_as(person.pk)
    assert Study.objects.filter(pk=private.pk).exists()

    sight.see_as(stranger.pk)
    assert not Study.objects.filter(pk=private.pk).exists()

    with sight.everything():
        Membership.objects.create(
            lab=private.lab, user=stranger, role=Membership.Role.VIEWER
        )
    sight.look_again()
    assert Study.objects.filter(pk=private.pk).exists()


def test_nobody_writes_for_another_lab(lab, other_lab):
    sight.see_labs(other_lab.pk)

    with pytest.raises(ProgrammingError, match="row-level"), transaction.atomic():
        Host.objects.create(lab=lab, slug="not-theirs")
    with pytest.raises(ProgrammingError, match="row-level"), transaction.atomic():
        AuditEntry.objects.create(lab=lab, kind=AuditEntry.Kind.JOINED, who="x")


def test_what_is_seen_is_set_again_after_a_rollback(private):
    def is_seen() -> bool:
        return Study.objects.filter(pk=private.pk).exists()

    def look_and_fail() -> None:
        with transaction.atomic():
            sight.see_labs()
            assert not is_seen()
            raise LookupError

    sight.see_labs(private.lab_id)
    assert is_seen()
    with pytest.raises(LookupError):
        look_and_fail()
    assert not is_seen()

    sight.see_labs(private.lab_id)
    assert is_seen()


def test_a_flag_is_hidden_with_what_it_quotes(private, study):
    flag = Flag.objects.create(
        lab=study.lab, study=study, rule="r", severity="check", fingerprint="f"
    )
    sight.see_labs()
    assert Flag.objects.exists()

    with sight.everything():
        flag.quotes.add(private)

    sight.look_again()
    assert not Flag.objects.exists()


@pytest.mark.parametrize("is_bound", [True, False])
@pytest.mark.parametrize("who", ["nobody", "another lab"])
def test_a_page_without_its_filter_shows_nothing_of_another_lab(
    client, private, other_lab, django_user_model, monkeypatch, who, is_bound
):
    """The filter is removed on purpose; shown all, the control, the page shows it."""
    for model in OURS.get_models():
        queries = type(model._default_manager.all())
        if hasattr(queries, "visible_to"):
            monkeypatch.setattr(queries, "visible_to", lambda rows, viewer: rows.all())
    if who == "another lab":
        bob = django_user_model.objects.create_user("bob")
        Membership.objects.create(
            lab=other_lab, user=bob, role=Membership.Role.MAINTAINER
        )
        client.force_login(bob)
    if not is_bound:
        monkeypatch.setattr(sight, "current", lambda: sight.EVERYTHING)

    page = client.get(f"/studies/{private.lab.slug}/{private.slug}/compare/")
    studies = client.get(reverse("dashboard:overview"))
    cells = client.get(reverse("api:cells"))

    assert page.status_code == (404 if is_bound else 200)
    assert (private.title in studies.content.decode()) is not is_bound
    assert bool(cells.json()["results"]) is not is_bound


def test_a_request_leaves_nothing_to_the_next_one(client, private, study, person):
    client.force_login(person)
    client.get(reverse("dashboard:overview"))
    during = settings_of_session()

    client.logout()
    answer = client.get(reverse("dashboard:overview"))

    assert str(private.lab_id) in during[0]
    assert private.title not in answer.content.decode()
    assert settings_of_session() == ("{}", "1".rjust(study.pk, "0"))


def test_what_no_request_asked_for_sees_all_and_in_a_web_process_nothing(
    private, monkeypatch
):
    assert Study.objects.exists()

    monkeypatch.setattr(sight, "_outside", sight.NOTHING)

    assert not Study.objects.exists()


def test_the_application_cannot_change_what_it_is_bound_by(db):
    for statement in (
        "DROP POLICY sight ON benchmarks_run",
        "ALTER TABLE benchmarks_run DISABLE ROW LEVEL SECURITY",
        "CREATE TABLE own (id bigint)",
        "SET ROLE virtlab_owner",
    ):
        refused = pytest.raises(ProgrammingError)
        with refused, transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)


@pytest.mark.django_db(transaction=True)
def test_a_lost_connection_is_replaced_at_the_end_of_a_request(client):
    """What is shown is sent by a statement, not by whoever asks for its state."""
    connection.ensure_connection()
    lost = connection.connection
    lost.pgconn.finish()
    connection.errors_occurred = True
    sight.see_labs()

    connection.close_if_unusable_or_obsolete()

    assert connection.connection is not lost
    assert client.get(reverse("dashboard:overview")).status_code == 200


def test_the_owner_has_an_address_without_options(settings):
    """As docker-compose.yml gives it; that of a socket has one option."""
    settings.OWNER_DATABASE_URL = "postgresql://owner:word@postgres:5432/virtlab"

    with row_security.as_owner():
        owner = connection.settings_dict

    assert (owner["USER"], owner["HOST"], owner["OPTIONS"]) == ("owner", "postgres", {})
    assert connection.settings_dict["USER"] != "owner"
