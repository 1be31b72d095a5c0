"""Row-level security: visible rows, and policies for all tables."""

import psycopg
import pytest
from django.apps import apps
from django.db import ProgrammingError, connection, models, transaction
from django.urls import reverse

from benchmarks import rls, rls_policies
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

# Tables with rows of an upload that pages may show.
SHOWN = (Study, Host, System, Run, Sample, RunMean, Cell, Efficiency)
OURS = apps.get_app_config("benchmarks")


@pytest.fixture
def private(submit, run_document, private_study):
    """Private studies of two labs, each with a result."""
    submit(run_document(study=private_study.slug))
    return private_study


def settings_of_session() -> tuple[str, str]:
    with psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(
            "SELECT current_setting('virtlab.labs', true),"
            " current_setting('virtlab.visible_studies', true)"
        )
        return cursor.fetchone() or ("", "")


def set_in_session(said: str | None) -> None:
    """Change the context without the application, as another program would."""
    with psycopg.Cursor(connection.connection) as cursor:
        cursor.execute("SET ROLE NONE")
        for name in ("labs", "person", "studies", "clear", "systems", "hosts"):
            cursor.execute(
                "SELECT set_config(%s, %s, false)", [f"virtlab.{name}", said]
            )


def count_rows() -> dict[str, int]:
    result = {}
    with psycopg.Cursor(connection.connection) as cursor:
        for model in SHOWN:
            cursor.execute(f"SELECT count(*) FROM {model._meta.db_table}")
            [result[model.__name__]] = cursor.fetchone() or (0,)
    return result


def test_tests_run_with_an_unprivileged_role(db):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rolsuper OR rolbypassrls OR rolcreatedb FROM pg_roles"
            " WHERE rolname = session_user"
        )
        assert cursor.fetchone() == (False,)

    assert rls_policies.is_enforced()
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone() == (rls.BYPASS_ROLE,)


def test_every_table_has_a_policy_or_an_exemption(db):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relrowsecurity AND EXISTS"
            " (SELECT FROM pg_policy WHERE polrelid = pg_class.oid)"
        )
        secured = {name for (name,) in cursor.fetchall()}

    every = set(OURS.get_models(include_auto_created=True))
    assert {
        model._meta.db_table for model in every - rls_policies.UNPROTECTED_MODELS.keys()
    } == (secured)
    assert all(rls_policies.UNPROTECTED_MODELS.values())


def test_table_without_owner_is_rejected():
    class Loose(models.Model):
        name = models.TextField()

        class Meta:
            app_label = "elsewhere"

    with pytest.raises(TypeError, match="Loose has no row policy"):
        rls_policies.policy_condition(Loose)


def test_session_without_context_sees_nothing(private, study):
    assert 0 not in count_rows().values()

    for output in (None, ""):
        set_in_session(output)

        assert set(count_rows().values()) == {0}


def test_viewer_sees_own_and_public_rows(private, study, other_lab):
    rls.allow_labs()
    assert list(Study.objects.all()) == [study]
    assert not Cell.objects.exists()
    assert not Sample.objects.exists()

    rls.allow_labs(other_lab.pk)
    assert list(Study.objects.all()) == [study]

    rls.allow_labs(private.lab_id)
    assert set(Study.objects.all()) == {study, private}
    assert Sample.objects.exists()


def test_shared_rows_are_visible_only_to_that_lab(private, other_lab):
    Study.objects.filter(pk=private.pk).update(visibility=Study.Visibility.SHARED)
    private.shared_with.add(other_lab)

    rls.allow_labs()
    assert not Study.objects.filter(pk=private.pk).exists()

    rls.allow_labs(other_lab.pk)
    assert Study.objects.filter(pk=private.pk).exists()
    assert 0 not in count_rows().values()


def test_person_sees_rows_of_their_labs(private, person, django_user_model):
    stranger = django_user_model.objects.create_user("mallory")

    rls.allow_viewer(person.pk)
    assert Study.objects.filter(pk=private.pk).exists()

    rls.allow_viewer(stranger.pk)
    assert not Study.objects.filter(pk=private.pk).exists()

    with rls.allow_all():
        Membership.objects.create(
            lab=private.lab, user=stranger, role=Membership.Role.VIEWER
        )
    rls.refresh()
    assert Study.objects.filter(pk=private.pk).exists()


def test_writing_for_another_lab_is_rejected(lab, other_lab):
    rls.allow_labs(other_lab.pk)

    with pytest.raises(ProgrammingError, match="row-level"), transaction.atomic():
        Host.objects.create(lab=lab, slug="not-theirs")
    with pytest.raises(ProgrammingError, match="row-level"), transaction.atomic():
        AuditEntry.objects.create(lab=lab, kind=AuditEntry.Kind.JOINED_LAB, actor="x")


def test_context_is_restored_after_a_rollback(private):
    def is_visible() -> bool:
        return Study.objects.filter(pk=private.pk).exists()

    def fail_with_other_context() -> None:
        with transaction.atomic():
            rls.allow_labs()
            assert not is_visible()
            raise LookupError

    rls.allow_labs(private.lab_id)
    assert is_visible()
    with pytest.raises(LookupError):
        fail_with_other_context()
    assert not is_visible()

    rls.allow_labs(private.lab_id)
    assert is_visible()


def test_flag_is_hidden_with_quoted_studies(private, study):
    flag = Flag.objects.create(
        lab=study.lab, study=study, rule="r", severity="check", fingerprint="f"
    )
    rls.allow_labs()
    assert Flag.objects.exists()

    with rls.allow_all():
        flag.quoted_studies.add(private)

    rls.refresh()
    assert not Flag.objects.exists()


@pytest.mark.parametrize("is_bound", [True, False])
@pytest.mark.parametrize("who", ["nobody", "another lab"])
def test_page_without_filter_shows_no_other_lab(
    client, private, other_lab, django_user_model, monkeypatch, who, is_bound
):
    """Without the filter, the page shows the row only if all rows are allowed."""
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
        monkeypatch.setattr(rls, "current_context", lambda: rls.ALL_ROWS)

    page = client.get(f"/studies/{private.lab.slug}/{private.slug}/compare/")
    studies = client.get(reverse("dashboard:home"))
    cells = client.get(reverse("api:cells"))

    assert page.status_code == (404 if is_bound else 200)
    assert (private.title in studies.content.decode()) is not is_bound
    assert bool(cells.json()["results"]) is not is_bound


def test_context_does_not_leak_to_the_next_request(client, private, study, person):
    client.force_login(person)
    client.get(reverse("dashboard:home"))
    during = settings_of_session()

    client.logout()
    answer = client.get(reverse("dashboard:home"))

    assert str(private.lab_id) in during[0]
    assert private.title not in answer.content.decode()
    assert settings_of_session() == ("{}", "1".rjust(study.pk, "0"))


def test_code_outside_requests_sees_all_or_nothing_by_process(private, monkeypatch):
    assert Study.objects.exists()

    monkeypatch.setattr(rls, "_default_context", rls.NO_ROWS)

    assert not Study.objects.exists()


def test_application_cannot_change_policies(db):
    for statement in (
        "DROP POLICY visible_rows ON benchmarks_run",
        "ALTER TABLE benchmarks_run DISABLE ROW LEVEL SECURITY",
        "CREATE TABLE own (id bigint)",
        "SET ROLE virtlab_owner",
    ):
        refused = pytest.raises(ProgrammingError)
        with refused, transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)


@pytest.mark.django_db(transaction=True)
def test_lost_connection_is_replaced_after_the_request(client):
    """What is shown is sent by a statement, not by whoever asks for its state."""
    connection.ensure_connection()
    lost = connection.connection
    lost.pgconn.finish()
    connection.errors_occurred = True
    rls.allow_labs()

    connection.close_if_unusable_or_obsolete()

    assert connection.connection is not lost
    assert client.get(reverse("dashboard:home")).status_code == 200


def test_owner_url_may_have_no_options(settings):
    """As docker-compose.yml gives it; that of a socket has one option."""
    settings.OWNER_DATABASE_URL = "postgresql://owner:word@postgres:5432/virtlab"

    with rls_policies.as_owner():
        owner = connection.settings_dict

    assert (owner["USER"], owner["HOST"], owner["OPTIONS"]) == ("owner", "postgres", {})
    assert connection.settings_dict["USER"] != "owner"
