"""Saved views of users and labs: their page, the home page and the API."""

import re
from html import unescape

import pytest
from django.contrib.auth import get_user_model

from benchmarks.collaboration import saved_views
from benchmarks.collaboration.saved_views import can_be_saved, save_view
from benchmarks.maintenance.deletion import delete_account
from benchmarks.models import Membership, SavedView

PAGE = "/saved-views/"
WORK = "/compare/?work=cpu-integer&host=all"


@pytest.fixture
def carol(client, person):
    client.force_login(person)
    return client


def save(client, name="Integer", address=WORK, lab="", **headers):
    return client.post(PAGE, {"name": name, "path": address, "lab": lab}, **headers)


@pytest.mark.parametrize(
    ("address", "is_page"),
    [
        (WORK, True),
        ("/evidence/question/?hypervisor=Xen&work=disk-sequential-read", True),
        ("/studies/alpha-lab/study/", True),
        ("/studies/alpha-lab/study/compare/?pin=4", True),
        ("/?work=cpu-integer&machine=one", True),
        ("/search/?q=xen", True),
        ("/settings/?hypervisor=KVM", True),
        ("/work/databases/", True),
        ("/workers/", False),
        ("//evil.example/compare/", False),
        ("https://evil.example/compare/", False),
        ("javascript:alert(1)", False),
        ("/logout/", False),
        ("/compare/../logout/", False),
        ("/compare/?a=b#c", False),
        ("/compare/?a=\nb", False),
        ("/compare/\\evil", False),
        ("/compare/?" + "x" * 4_000, False),
        ("", False),
    ],
)
def test_only_pages_of_this_site_are_saved(address, is_page):
    assert can_be_saved(address) == is_page


def test_referring_page_is_offered(carol):
    text = carol.get(
        PAGE, {"path": "/evidence/"}, headers={"Referer": f"http://testserver{WORK}"}
    ).content.decode()
    assert f'value="{WORK.replace("&", "&amp;")}"' in text

    foreign = {"Referer": "http://evil.example/compare/?x=1"}
    text = carol.get(PAGE, {"path": "/evidence/"}, headers=foreign).content.decode()
    assert 'value="/evidence/"' in text


def test_pages_link_to_saving_for_signed_in_users(client, text, person):
    assert "Save this view" not in text("/compare/")
    client.force_login(person)
    assert "path=%2Fcompare%2F%3Fhost%3Dall" in text("/compare/?host=all")
    assert "path=%2Fsearch%2F%3Fq%3Dxen" in text("/search/?q=xen")
    assert "path=%2Fsettings%2F" in text("/settings/")
    assert "Save this view" not in text("/glossary/")


def test_name_of_the_page_is_suggested(carol, text):
    page = text("/evidence/?doubtful=exclude")
    link = re.search(r'href="([^"]+)"[^>]*>Save this view', page)

    form = text(unescape(link[1]))

    title = re.search("<title>(.*) · Virtlab", page)[1]
    assert f'value="{title}"' in form
    assert 'name="path" value="/evidence/?doubtful=exclude"' in form


def test_nobody_needs_to_type_an_address(carol, text):
    assert 'name="path"' not in text(PAGE)
    save(carol, address="/nonsense/")
    assert "Only pages that show data" in save(carol, address="/nonsense/").text


def test_owner_and_editors_rename_view(client, person, lab):
    view = save_view(name="Ours", path=WORK, person=person, lab=lab)
    save_view(name="Other", path=WORK, person=person, lab=lab)
    dora = get_user_model().objects.create_user("dora")
    Membership.objects.create(lab=lab, user=dora, role="viewer")

    def rename(name):
        found = client.post(f"{PAGE}{view.pk}/rename/", {"name": name}, follow=True)
        view.refresh_from_db()
        return found

    client.force_login(dora)
    assert (rename("Hers").status_code, view.name) == (404, "Ours")
    client.force_login(person)
    assert "Renamed to Better." in rename("Better").text
    assert (view.name, view.path) == ("Better", WORK)
    assert "Another view already has this name." in rename("Other").text
    assert view.name == "Better"


def test_views_are_listed_in_the_account(carol, text):
    save(carol)

    assert 'href="/compare/?work=cpu-integer&amp;host=all"' in text("/account/")


def test_view_is_listed_on_home_page(carol, text):
    answer = save(carol, name="<b>Integer</b>")

    assert answer.status_code == 302
    for page in (text("/"), text(PAGE)):
        assert 'href="/compare/?work=cpu-integer&amp;host=all"' in page
        assert "&lt;b&gt;Integer" in page
        assert "<b>Integer" not in page


def test_view_is_visible_to_owner_or_lab(client, person, lab, other_lab, text):
    save_view(name="Mine", path=WORK, person=person, lab=None)
    save_view(name="Ours", path=WORK, person=person, lab=lab)
    for name, place in (("dora", lab), ("eve", other_lab)):
        user = get_user_model().objects.create_user(name)
        Membership.objects.create(lab=place, user=user, role="admin")

    def seen():
        names = {"Mine", "Ours"}
        return {it for it in names if it in text("/") and it in text(PAGE)}

    for user, right in ((person, {"Mine", "Ours"}), ("dora", {"Ours"}), ("eve", set())):
        if isinstance(user, str):
            user = get_user_model().objects.get(username=user)
        client.force_login(user)
        assert seen() == right
        found = client.get("/api/v1/saved-views/").json()["results"]
        assert {it["name"] for it in found} == right
    client.logout()
    assert "Ours" not in text("/")


def test_same_name_replaces_view(carol, lab):
    save(carol)
    save(carol, address="/evidence/")
    save(carol, lab="alpha-lab")

    own, shared = SavedView.objects.order_by("pk")
    assert (own.lab, own.path) == (None, "/evidence/")
    assert (shared.lab, shared.path) == (lab, WORK)


@pytest.mark.parametrize(
    "changed",
    [
        {"name": ""},
        {"address": "//evil.example/"},
        {"lab": "beta-lab"},
        {"name": "a\u202eb"},
    ],
)
def test_errors_are_shown(carol, other_lab, changed):
    assert save(carol, **changed).status_code == 422
    assert not SavedView.objects.exists()


def test_number_of_views_is_limited(carol, monkeypatch):
    monkeypatch.setattr(saved_views, "MAX_SAVED_VIEWS", 1)
    save(carol)

    assert save(carol, name="Another").status_code == 422


def test_owner_and_editors_delete_view(client, person, lab, other_lab):
    dora = get_user_model().objects.create_user("dora")
    place = Membership.objects.create(lab=lab, user=dora, role="viewer")
    view = save_view(name="Ours", path=WORK, person=person, lab=lab)
    own = save_view(name="Mine", path=WORK, person=person, lab=None)
    client.force_login(dora)

    def delete(it):
        return client.post(f"{PAGE}{it.pk}/delete/").status_code

    assert delete(view) == 404
    place.role = "maintainer"
    place.save()
    assert delete(own) == 404
    assert delete(view) == 302
    client.force_login(person)
    assert delete(own) == 302
    assert not SavedView.objects.exists()


def test_deleted_account_keeps_views_of_labs(person, lab):
    Membership.objects.create(
        lab=lab, user=get_user_model().objects.create_user("ada"), role="admin"
    )
    for place in (None, lab):
        save_view(name="View", path=WORK, person=person, lab=place)

    delete_account(person=person, actor="test")

    left = SavedView.objects.get()
    assert (left.lab, left.person, left.saved_by) == (lab, None, "carol")
