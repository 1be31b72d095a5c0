"""Every text of every page goes through gettext, and a translator gets them all."""

from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client

from benchmarks.models import Agent, Cell, Flag, Lab, Membership, Study
from benchmarks.studies import checking
from dashboard.management.commands.write_catalogue import catalogue
from dashboard.wording.core_texts import UnmarkedTextError, core_texts
from tests.dashboard.marking import marked_language, untranslated, words_of_data
from tests.reference import load_study

# The mark makes pytest-django set up the database; the studies are committed.
pytestmark = pytest.mark.django_db

ROOT = Path(__file__).parents[2]
STUDIES = ("uoc-2012-kvm", "inqbus-2008-io", "heidelberg-2007-xen", "lmu-2010-esxi")


@pytest.fixture(scope="module")
def known(django_db_setup, django_db_blocker):
    """Load the studies; return every word that came with them."""
    with django_db_blocker.unblock():
        lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
        agent = Agent.objects.create(lab=lab, name="alice")
        carol = get_user_model().objects.create_user("carol", password="sesame-open")
        Membership.objects.create(lab=lab, user=carol, role=Membership.Role.MAINTAINER)
        for slug in STUDIES:
            checking.check_study(load_study(agent, slug))
        yield words_of_data()
        call_command("flush", interactive=False, verbosity=0)


def addresses():
    """Return the address of every kind of page, on every study."""
    yield from ("/", "/login/", "/upload/", "/nowhere/")
    for study in Study.objects.all():
        base = f"/studies/alpha-lab/{study.slug}/"
        yield base
        for page in (
            "compare",
            "factor-effects",
            "co-runs",
            "energy",
            "sweep",
            "network",
        ):
            yield f"{base}{page}/"
        for page in ("trend", "runs", "flags", "report", "compare/chart"):
            yield f"{base}{page}/"
        for look in ("show=overhead", "show=value"):
            yield f"{base}compare/?{look}"
        pair = study.cells.values_list("system", flat=True).distinct()[:2]
        if len(pair) == 2:
            yield f"{base}compare/?pin={pair[0]},{pair[1]}"
        for cell in cells(study):
            yield f"{base}cells/{cell.pk}/"
            yield f"{base}compare/cell/?cell={cell.pk}"
        yield f"/runs/{study.runs.first().pk}/"


def cells(study):
    """Return a cell of each state, one with several speeds, and some with flags."""
    every = study.cells.order_by("pk")
    yield from every.order_by("efficiency__state", "pk").distinct("efficiency__state")
    yield from every.exclude(shape_codes="")[:1]
    flags = Flag.objects.filter(study=study).order_by("rule", "pk")
    for flag in flags.distinct("rule"):
        yield from Cell.objects.filter(flags=flag)[:1]


@pytest.fixture
def visitor(known, django_db_blocker):
    """Carol, who may see and change everything of her lab."""
    with django_db_blocker.unblock():
        carol = Client()
        carol.force_login(get_user_model().objects.get(username="carol"))
        yield carol


def test_no_page_has_a_word_that_no_translator_saw(visitor, known):
    with marked_language():
        pages = {each: visitor.get(each) for each in addresses()}

    found = {
        text: address
        for address, page in pages.items()
        for text in untranslated(page, known)
    }
    assert len(pages) > 100
    assert {page.status_code for page in pages.values()} <= {200, 302, 404}
    assert not found, "\n".join(f"{found[text]}: {text}" for text in sorted(found))


def test_this_test_would_notice_a_word():
    page = HttpResponse(
        '<p>⟦marked⟧ forgotten</p><a title="heard" href="">⟦a ⟦nested⟧ one⟧</a>'
    )

    assert untranslated(page, {"xen"}) == ["heard", "forgotten"]


def test_every_text_of_the_core_is_in_the_catalogue():
    assert (ROOT / "dashboard/wording/catalogue.py").read_text() == catalogue(), (
        "make docs"
    )


def test_a_sentence_that_hides_its_words_is_refused(tmp_path):
    (tmp_path / "hidden.py").write_text('Sentence(f"the {side} is slow")\n')

    with pytest.raises(UnmarkedTextError, match=r"hidden\.py, line 1"):
        core_texts(tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        'raise ParseError("The file is empty.")',
        'raise line.refused(f"it has {n} columns.")',
        'run.mark("cut", f"{name} is cut.")',
        'finished(runs, "It printed nothing.")',
    ],
)
def test_words_for_people_outside_of_a_sentence_are_refused(tmp_path, line):
    (tmp_path / "bare.py").write_text(f"import os\n{line}\n")

    with pytest.raises(UnmarkedTextError, match=r"bare\.py, line 2"):
        core_texts(tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        'raise ParseError(Sentence("The file is empty."))',
        'raise ValueError("for programmers")',
        'run.mark("cut", CUT)',
    ],
)
def test_sentences_and_words_for_programmers_are_not(tmp_path, line):
    (tmp_path / "sound.py").write_text(f"{line}\n")

    assert core_texts(tmp_path)
