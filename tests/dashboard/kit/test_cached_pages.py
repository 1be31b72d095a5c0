"""Pages are cached per user until the data change.

These tests commit transactions, because pages are not cached inside a transaction.
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
from benchmarks.rls_policies import as_owner
from benchmarks.studies import data_versions
from dashboard.kit import page_cache
from dashboard.kit.page_cache import PageContent, cached_page
from dashboard.pages.compare import views
from dashboard.pages.compare.page import comparison_page
from tests.dashboard.marked_language import translated
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
        message="It is so.",
        fingerprint="f" * 64,
    )
    found.cells.add(pair)
    return found


@pytest.fixture
def addresses(pair, flag):
    """Return the URLs of all cached pages, and of a fragment."""
    native = Cell.objects.get(system__hypervisor="native").system_id
    ids = {"cell": pair.pk, "system": pair.system_id, "study": pair.study_id}
    ids |= {"one": native, "other": pair.system_id}
    return [url.format(**ids) for url in counted(STUDY, is_cached=True)]


@pytest.fixture
def texts(monkeypatch):
    """Replace the page cache by an empty one and return it."""
    empty = LRUCache(4_000_000, getsizeof=page_cache.cache_entry_bytes)
    monkeypatch.setattr(page_cache, "_texts", empty)
    return empty


@pytest.fixture
def titles():
    """Return a function that requests a cached view with the titles of all studies."""

    @cached_page
    def view(request):
        return PageContent("kit/_empty.html", {"title": titles_now()})

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


def test_a_page_is_rendered_once_and_repeated_unchanged(
    client, addresses, texts, django_assert_num_queries
):
    """A second request needs one query, even if other tests write to the server."""
    for address in addresses:
        first = client.get(address).text
        with django_assert_num_queries(1):
            assert client.get(address).text == first, address


@pytest.mark.parametrize("role", Membership.Role.values)
def test_cached_texts_contain_no_personal_data(lab, addresses, texts, role):
    client = signed_in(lab, NAME, role)
    for address in addresses:
        client.get(address)

    # Each page, and the tables of comparisons.
    assert len(texts) >= len(addresses)
    secrets = [cookie.value for cookie in client.cookies.values()]
    for text in texts.values():
        assert not [item for item in [NAME, *secrets] if item in text.text]


def test_the_frame_shows_the_user(lab, addresses):
    client = signed_in(lab, NAME)
    stranger = Client()
    for address in addresses:
        for _ in range(2):
            page = client.get(address).text
            assert (NAME in page) == ("<main" in page), address
            assert NAME not in stranger.get(address).text


def test_users_see_the_actions_they_may_perform(lab, flag):
    keeper, viewer = signed_in(lab, "olga"), signed_in(lab, "rita", "viewer")

    for _ in range(2):
        # Two forms for both: sign out, and comment on the study.
        for address, more in ((STUDY, [3, 2]), (f"{STUDY}flags/", [2, 1])):
            forms = [
                len(TOKEN.findall(client.get(address).text))
                for client in (keeper, viewer)
            ]
            assert forms == more, address


def test_forms_on_cached_pages_can_be_submitted(lab, flag):
    client = signed_in(lab, "olga", enforce_csrf_checks=True)
    page = f"{STUDY}flags/?status=all"
    client.get(page)
    for note in ("once", "twice"):
        kept = client.get(page).text
        token = TOKEN.findall(kept[kept.index("<main") :])[0]
        fields = {"status": "dismissed", "note": note, "csrfmiddlewaretoken": token}
        assert client.post(f"/flags/{flag.pk}/decide/", fields).status_code == 302

    assert [decision.note for decision in flag.decisions.order_by("pk")] == [
        "once",
        "twice",
    ]


def test_pages_contain_no_csrf_placeholder(client, lab, addresses):
    for reader in (client, signed_in(lab, "olga")):
        for address in addresses:
            assert page_cache.CSRF_PLACEHOLDER not in reader.get(address).text


@pytest.mark.parametrize("how", ["the ORM", "SQL", "another way round"])
def test_changes_are_visible_immediately(client, pair, how):
    study = pair.study
    addresses = ["/", STUDY, f"{STUDY}compare/"]
    before = [client.get(address).text for address in addresses]

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


def test_changes_during_rendering_are_on_the_next_page(study):
    """The page reads the old title and is cached after the new one is committed."""

    @cached_page
    def view(request):
        seen = titles_now()
        Study.objects.update(title=f"{seen}!")
        return PageContent("kit/_empty.html", {"title": seen})

    old, new = view(asked()).text, view(asked()).text

    assert study.title in old
    assert f"{study.title}!" in new


def test_rolled_back_changes_are_not_cached(titles, study):
    before = titles()
    with transaction.atomic():
        Study.objects.update(title="Never")
        assert "Never" in titles()
        transaction.set_rollback(True)

    assert titles() == before


def test_pages_are_not_cached_in_transactions(titles, study, texts):
    with transaction.atomic():
        for title in ("One", "Two"):
            Study.objects.update(title=title)
            assert title in titles()

    assert not texts


def test_a_study_made_private_is_not_served_from_the_cache(client, pair, lab):
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


def test_pages_are_cached_by_language(client, pair, tmp_path):
    address = f"{STUDY}compare/"
    with translated("de", tmp_path):
        pages = {
            code: client.get(address, headers={"Accept-Language": code}).text
            for code in ("en", "de", "en", "de")
        }

    assert "0.247" in pages["en"]
    assert "0,247" in pages["de"]


def test_pages_are_cached_by_host(client, pair, settings):
    settings.ALLOWED_HOSTS = ["lab.example", "testserver"]

    for host in ("testserver", "lab.example", "testserver"):
        page = client.get(STUDY, headers={"Host": host}).text
        assert f"http://{host}{STUDY}" in page  # in the citation


def test_fragments_are_cached_separately(client, pair):
    address = f"{STUDY}compare/"
    part = {"HX-Request": "true", "HX-Target": "comparison"}
    for _ in range(2):
        assert "<main" in client.get(address).text
        assert "<main" not in client.get(address, headers=part).text


def test_pages_larger_than_the_cache_are_shown(client, pair, texts, monkeypatch):
    monkeypatch.setattr(page_cache, "MAX_CACHE_BYTES", 1_000)
    for _ in range(2):
        assert "<main" in client.get(f"{STUDY}compare/").text

    assert not texts


def test_the_cache_is_limited_in_size(client, pair, monkeypatch):
    few = LRUCache(120_000, getsizeof=page_cache.cache_entry_bytes)
    monkeypatch.setattr(page_cache, "_texts", few)
    for number in range(20):
        client.get(f"{STUDY}compare/?q={number}")

    assert 1 <= len(few) < 20
    assert few.currsize <= 120_000


def test_cache_entry_sizes_are_accurate(texts):
    """Attackers may request thousands of long URLs; a character may take four bytes."""

    @cached_page
    def view(request):
        return PageContent("kit/_empty.html", {"title": "\N{CRYING FACE}" * 300})

    for number in range(3):
        view(asked(f"/?q={number:x>4000}"))

    assert [sys.getsizeof(key) < 100 for key in texts] == 3 * [True]
    assert texts.currsize > 3 * 4 * 300


def test_redirects_and_errors_are_not_cached(client, pair, texts):
    @cached_page
    def away(request):
        return redirect("/elsewhere/")

    assert away(asked()).status_code == 302
    assert client.get(f"{STUDY}cells/999999/").status_code == 404
    assert not texts


def test_uploads_to_other_studies_do_not_invalidate_a_study(
    client, addresses, texts, private_study, submit, run_document, other_lab
):
    """Store a run in a study with the same lab and system, and a host in another lab.

    With the same benchmark, the upload would cause a check across studies, which pages
    show.
    """
    own = [address for address in addresses if address.startswith(STUDY)]
    own = [item for item in own if "trend" not in item]
    for address in own:
        client.get(address)
    before = dict(texts)

    sample = {"metric": "IOps", "parameters": {}, "unit": "1/s", "value": 9.0}
    submit(run_document(study=private_study.slug, samples=[sample]))
    Host.objects.create(lab=other_lab, slug="alpha")
    for address in own:
        assert client.get(address).status_code == 200

    assert dict(texts) == before


def test_pages_with_untracked_tables_are_invalidated_by_any_change(
    titles, study, texts
):
    with as_owner(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE benchmarks_study DISABLE TRIGGER USER")
    data_versions.counted_tables.cache_clear()
    try:
        titles()
        assert [text.version_parts for text in texts.values()] == [None]
        Study.objects.update(title="By somebody")
        assert "By somebody" in titles()
    finally:
        data_versions.counted_tables.cache_clear()
        with as_owner(), connection.cursor() as cursor:
            cursor.execute("ALTER TABLE benchmarks_study ENABLE TRIGGER USER")
            cursor.execute("""
                SELECT format('ALTER TABLE benchmarks_study ENABLE ALWAYS TRIGGER %I',
                              tgname)
                FROM pg_trigger WHERE tgrelid = 'benchmarks_study'::regclass
                  AND tgname ~ '_are_counted$'
            """)
            for (statement,) in cursor.fetchall():
                cursor.execute(statement)


def test_comparisons_stay_cached_during_other_writes(pair, texts, monkeypatch):
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
