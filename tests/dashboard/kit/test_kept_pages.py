"""What a page shows is kept while the database holds the same, for one who reads it.

In transactions that are really committed, as browsers see them: inside one nothing is
kept.
"""

import re
import sys

import pytest
from cachetools import LRUCache
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.db import connection, transaction
from django.shortcuts import redirect
from django.test import Client, RequestFactory

from benchmarks.models import Cell, Flag, Host, Membership, Study, System
from benchmarks.row_security import as_owner
from benchmarks.studies import data_versions
from dashboard.kit import kept
from dashboard.kit.kept import Content, kept_page
from dashboard.pages.compare import views
from dashboard.pages.compare.page import comparison_page
from tests.dashboard.marking import translated
from tests.dashboard.routes import counted

pytestmark = pytest.mark.django_db(transaction=True)

STUDY = "/studies/alpha-lab/study/"
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')
NAME = "somebody-unmistakable"


@pytest.fixture
def flag(pair):
    found = Flag.objects.create(
        study=pair.study,
        lab=pair.lab,
        rule="unit_slip",
        severity="implausible",
        sentence="It is so.",
        fingerprint="f" * 64,
    )
    found.cells.add(pair)
    return found


@pytest.fixture
def addresses(pair, flag):
    """Every page that is kept, and a part of one."""
    native = Cell.objects.get(system__hypervisor="native").system_id
    ids = {"cell": pair.pk, "system": pair.system_id, "study": pair.study_id}
    ids |= {"one": native, "other": pair.system_id}
    return [each.format(**ids) for each in counted(STUDY, is_cached=True)]


@pytest.fixture
def texts(monkeypatch):
    """What is kept from now on."""
    empty = LRUCache(4_000_000, getsizeof=kept.room_of)
    monkeypatch.setattr(kept, "_texts", empty)
    return empty


@pytest.fixture
def titles():
    """Ask a view that is kept for the titles of all studies."""

    @kept_page
    def view(request):
        return Content("kit/_empty.html", {"title": titles_now()})

    return lambda: view(asked()).text


def asked(address="/"):
    request = RequestFactory().get(address)
    request.user = AnonymousUser()
    return request


def titles_now():
    return ", ".join(Study.objects.order_by("pk").values_list("title", flat=True))


def signed_in(lab, name, role="admin", **kwargs):
    person = get_user_model().objects.create_user(username=name, password="secret")
    Membership.objects.create(user=person, lab=lab, role=role)
    client = Client(**kwargs)
    client.force_login(person)
    return client


def test_a_page_is_made_once_and_is_the_same_again(
    client, addresses, texts, django_assert_num_queries
):
    """Whatever other tests write to the same server meanwhile."""
    for address in addresses:
        first = client.get(address).text
        with django_assert_num_queries(1):
            assert client.get(address).text == first, address


@pytest.mark.parametrize("role", Membership.Role.values)
def test_nothing_that_is_kept_tells_of_who_reads_it(lab, addresses, texts, role):
    client = signed_in(lab, NAME, role)
    for address in addresses:
        client.get(address)

    # Each page, and of comparisons their tables, too.
    assert len(texts) >= len(addresses)
    secrets = [each.value for each in client.cookies.values()]
    for each in texts.values():
        assert not [it for it in [NAME, *secrets] if it in each.text]


def test_the_frame_names_who_reads_it(lab, addresses):
    client = signed_in(lab, NAME)
    stranger = Client()
    for address in addresses:
        for _ in range(2):
            page = client.get(address).text
            assert (NAME in page) == ("<main" in page), address
            assert NAME not in stranger.get(address).text


def test_each_finds_what_they_may_do(lab, flag):
    keeper, viewer = signed_in(lab, "olga"), signed_in(lab, "rita", "viewer")

    for _ in range(2):
        # Of both: to sign out, and to write of the study.
        for address, more in ((STUDY, [3, 2]), (f"{STUDY}flags/", [2, 1])):
            forms = [
                len(TOKEN.findall(it.get(address).text)) for it in (keeper, viewer)
            ]
            assert forms == more, address


def test_a_form_on_a_kept_page_is_taken_from_whoever_reads_it(lab, flag):
    client = signed_in(lab, "olga", enforce_csrf_checks=True)
    page = f"{STUDY}flags/?status=all"
    client.get(page)
    for note in ("once", "twice"):
        kept = client.get(page).text
        token = TOKEN.findall(kept[kept.index("<main") :])[0]
        fields = {"status": "dismissed", "note": note, "csrfmiddlewaretoken": token}
        assert client.post(f"/flags/{flag.pk}/decide/", fields).status_code == 302

    assert [each.note for each in flag.decisions.order_by("pk")] == ["once", "twice"]


def test_no_secret_of_a_form_is_left_in_a_page(client, lab, addresses):
    for reader in (client, signed_in(lab, "olga")):
        for address in addresses:
            assert kept.SECRET not in reader.get(address).text


@pytest.mark.parametrize("how", ["the ORM", "SQL", "another way round"])
def test_a_change_is_seen_at_once(client, pair, how):
    study = pair.study
    addresses = ["/", STUDY, f"{STUDY}compare/"]
    before = [client.get(each).text for each in addresses]

    if how == "the ORM":
        Study.objects.filter(pk=study.pk).update(title="Renamed")
    elif how == "SQL":
        with connection.cursor() as cursor:
            cursor.execute("UPDATE benchmarks_study SET title = 'Renamed'")
    else:
        with transaction.atomic():
            study.title = "Renamed"
            study.save()

    for address, old in zip(addresses, before, strict=True):
        assert "Renamed" not in old
        assert "Renamed" in client.get(address).text


def test_what_is_written_while_a_page_is_made_is_on_the_next(study):
    """The page read the old title, and was kept after the new one was committed."""

    @kept_page
    def view(request):
        seen = titles_now()
        Study.objects.update(title=f"{seen}!")
        return Content("kit/_empty.html", {"title": seen})

    old, new = view(asked()).text, view(asked()).text

    assert study.title in old
    assert f"{study.title}!" in new


def test_what_was_taken_back_was_never_shown(titles, study):
    before = titles()
    with transaction.atomic():
        Study.objects.update(title="Never")
        assert "Never" in titles()
        transaction.set_rollback(True)

    assert titles() == before


def test_inside_a_transaction_nothing_is_kept(titles, study, texts):
    with transaction.atomic():
        for title in ("One", "Two"):
            Study.objects.update(title=title)
            assert title in titles()

    assert not texts


def test_a_study_that_is_made_private_is_not_there_any_more(client, pair, lab):
    member = signed_in(lab, "olga")
    addresses = [STUDY, f"{STUDY}compare/", f"{STUDY}cells/{pair.pk}/"]
    for address in addresses:
        assert client.get(address).status_code == 200

    Study.objects.update(visibility="private")

    for address in addresses:
        assert client.get(address).status_code == 404
        assert member.get(address).status_code == 200

    Membership.objects.all().delete()

    for address in addresses:
        assert member.get(address).status_code == 404


def test_another_language_is_another_page(client, pair, tmp_path):
    address = f"{STUDY}compare/"
    with translated("de", tmp_path):
        pages = {
            code: client.get(address, headers={"Accept-Language": code}).text
            for code in ("en", "de", "en", "de")
        }

    assert "0.247" in pages["en"]
    assert "0,247" in pages["de"]


def test_another_host_is_another_page(client, pair, settings):
    settings.ALLOWED_HOSTS = ["lab.example", "testserver"]

    for host in ("testserver", "lab.example", "testserver"):
        page = client.get(STUDY, headers={"Host": host}).text
        assert f"http://{host}{STUDY}" in page  # in the citation


def test_a_part_that_htmx_asks_for_is_not_the_page(client, pair):
    address = f"{STUDY}compare/"
    part = {"HX-Request": "true", "HX-Target": "comparison"}
    for _ in range(2):
        assert "<main" in client.get(address).text
        assert "<main" not in client.get(address, headers=part).text


def test_a_page_larger_than_all_that_is_kept_is_shown_all_the_same(
    client, pair, texts, monkeypatch
):
    monkeypatch.setattr(kept, "MOST_BYTES", 1_000)
    for _ in range(2):
        assert "<main" in client.get(f"{STUDY}compare/").text

    assert not texts


def test_what_is_kept_is_bounded(client, pair, monkeypatch):
    few = LRUCache(120_000, getsizeof=kept.room_of)
    monkeypatch.setattr(kept, "_texts", few)
    for number in range(20):
        client.get(f"{STUDY}compare/?q={number}")

    assert 1 <= len(few) < 20
    assert few.currsize <= 120_000


def test_the_room_that_is_counted_is_the_room_that_is_taken(texts):
    """Long addresses are made up in thousands, and a sign may take four bytes."""

    @kept_page
    def view(request):
        return Content("kit/_empty.html", {"title": "\N{CRYING FACE}" * 300})

    for number in range(3):
        view(asked(f"/?q={number:x>4000}"))

    assert [sys.getsizeof(key) < 100 for key in texts] == 3 * [True]
    assert texts.currsize > 3 * 4 * 300


def test_a_redirect_and_an_error_are_not_kept(client, pair, texts):
    @kept_page
    def away(request):
        return redirect("/elsewhere/")

    assert away(asked()).status_code == 302
    assert client.get(f"{STUDY}cells/999999/").status_code == 404
    assert not texts


def test_an_upload_elsewhere_leaves_a_study_alone(
    client, addresses, texts, private_study, submit, run_document, other_lab
):
    """Into a study of the same lab and system, or anything of another lab.

    Of the same case it would ask for a check of what the study says beside others,
    which its pages show.
    """
    own = [each for each in addresses if each.startswith(STUDY)]
    own = [each for each in own if "trend" not in each]
    for address in own:
        client.get(address)
    before = dict(texts)

    sample = {"metric": "IOps", "parameters": {}, "unit": "1/s", "value": 9.0}
    submit(run_document(study=private_study.slug, samples=[sample]))
    Host.objects.create(lab=other_lab, slug="alpha")
    for address in own:
        assert client.get(address).status_code == 200

    assert dict(texts) == before


def test_what_is_read_from_other_tables_is_kept_until_anything_changes(
    titles, study, texts
):
    with as_owner(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE benchmarks_study DISABLE TRIGGER USER")
    data_versions.telling_tables.cache_clear()
    try:
        titles()
        assert [each.parts for each in texts.values()] == [None]
        Study.objects.update(title="By somebody")
        assert "By somebody" in titles()
    finally:
        data_versions.telling_tables.cache_clear()
        with as_owner(), connection.cursor() as cursor:
            cursor.execute("ALTER TABLE benchmarks_study ENABLE TRIGGER USER")
            cursor.execute("""
                SELECT format('ALTER TABLE benchmarks_study ENABLE ALWAYS TRIGGER %I',
                              tgname)
                FROM pg_trigger WHERE tgrelid = 'benchmarks_study'::regclass
                  AND tgname ~ '_is_noted$'
            """)
            for (statement,) in cursor.fetchall():
                cursor.execute(statement)


def test_a_comparison_is_kept_beside_what_others_write(pair, texts, monkeypatch):
    made = []

    def counted_page(*given):
        made.append(given)
        return comparison_page(*given)

    monkeypatch.setattr(views, "comparison_page", counted_page)
    client, address = Client(), f"{STUDY}compare/"

    def shown():
        return client.get(address).text.partition('id="comparison"')[2]

    first = shown()
    Study.objects.create(lab=pair.lab, slug="another", title="Another")
    assert (shown(), len(made)) == (first, 1)

    System.objects.filter(pk=pair.system_id).update(guest_os="Plan 9")
    assert (shown() != first, len(made)) == (True, 2)
