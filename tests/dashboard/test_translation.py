"""Every text of every page goes through gettext, and a translator gets them all."""

import re
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client
from django.utils import translation

from benchmarks.models import Agent, Cell, Flag, Lab, Membership, Study
from benchmarks.plausibility.findings import further
from benchmarks.sentences import either
from benchmarks.studies import checking
from dashboard import wording
from dashboard.management.commands.write_messages import ROOMS, Command, catalogue
from tests.dashboard.bare_words import bare_words, texts_of_calls
from tests.dashboard.marking import (
    marked_language,
    read,
    translated,
    untranslated,
    words_of_data,
)
from tests.reference import load_study

# The mark makes pytest-django set up the database; the studies are committed.
pytestmark = pytest.mark.django_db

SENTENCE = re.compile(r"""["'`][A-Z][^"'`\n;(]* [a-z]+""")
PLACE = re.compile(r"[{%]\(?(\w+)")
NOTE = re.compile(r"//.*|/\*.*?\*/", re.DOTALL)
# The numbers of attributes that styles, pictures, forms and scripts read.
DRAWN = r'(?:c?[xyrd][12]?|width|height|points|transform|style)="[^"]*\d[^"]*"'
READ = r'(?:value|min|max|data-(?!separators)[a-z-]+)="[-\d.,e ]+"'
NUMBERS = re.compile(rf"\s(?:{DRAWN}|{READ})")
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
            yield f"{base}direct/?pin={pair[0]},{pair[1]}"
        yield f"/runs/{study.runs.first().pk}/"
    for cell in {cell.pk: cell for cell in cells()}.values():
        base = f"/studies/alpha-lab/{cell.study.slug}/"
        yield f"{base}cells/{cell.pk}/"
        yield f"{base}compare/cell/?cell={cell.pk}"


def cells():
    """Return a cell of each state of each study, two with several speeds, some flagged.

    Each rule that flagged a cell has one.
    """
    states = "study", "efficiency__state"
    yield from Cell.objects.order_by(*states, "pk").distinct(*states)
    yield from Cell.objects.exclude(shape_codes="").order_by("pk")[:2]
    for flag in Flag.objects.order_by("rule", "pk").distinct("rule"):
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


def test_what_programs_read_is_the_same_in_every_language(visitor, tmp_path):
    pages = [each for each in addresses() if "uoc-2012-kvm" in each]

    with translated("de", tmp_path):
        there, here = (
            {
                page: NUMBERS.findall(
                    visitor.get(page, headers={"accept-language": code}).text
                )
                for page in pages
            }
            for code in ("de", "en")
        )

    assert sum(map(len, here.values())) > 500
    assert {page: set(there[page]) ^ set(here[page]) for page in pages} == {
        page: set() for page in pages
    }


def test_this_test_would_notice_a_word():
    page = HttpResponse(
        '<p>⟦marked⟧ forgotten</p><a title="heard" href="">⟦a ⟦nested⟧ one⟧</a>'
    )

    assert untranslated(page, {"xen"}) == ["heard", "forgotten"]


def test_the_translators_list_is_current():
    for path, text in Command().files().items():
        assert path.read_text() == text, "make docs"


def test_a_text_is_found_however_it_is_marked(tmp_path):
    (tmp_path / "marked.py").write_text(
        'Sentence("the {side} is slow", side=side)\n'
        'counted("{n} run", "{n} runs", n=3)\n'
        'WAITING = {"x": template("it waits")}\n'
        '_("yes"); gettext_lazy("no"); ngettext("one", "%(n)s", n)\n'
        '@rule("id", "A rule", "check")\n'
        'def check(study): """For programmers."""\n'
    )
    (tmp_path / "marked.html").write_text(
        '{% load i18n %}<p title="{% translate "heard" %}">\n'
        "      {% blocktranslate with n=3 %}{{ n }} of 5 %{% endblocktranslate %}\n"
        "   {% blocktranslate count n=runs %}a run{% plural %}{{ n }} runs"
        "{% endblocktranslate %}</p>"
    )

    found = {message.id for message in catalogue(tmp_path) if message.id}

    assert found == {
        *("the {side} is slow", ("{n} run", "{n} runs"), "it waits", "yes", "no"),
        *(("one", "%(n)s"), "A rule", "heard", "%(n)s of 5 %%"),
        ("a run", "%(n)s runs"),
    }


def test_no_template_of_an_error_is_missing():
    """Babel reads tokens: a variable called like a function misleads it."""
    rooms = [ROOT / room for room in ROOMS]
    found = {message.id for message in catalogue(*rooms)}
    said = set(texts_of_calls(*rooms))

    assert len(said) > 300
    assert said - found == set()


def test_every_translation_keeps_what_is_put_into_it():
    for path in (ROOT / "locale").glob("*/LC_MESSAGES/django.po"):
        for message in read(path):
            assert not message.string or not lost_places(message.id, message.string)
    assert lost_places("{n:g} of {most} runs", "{most}: {n:g}") == set()
    assert lost_places("{n:g} of {most} runs", "{most} runs") == {"n"}
    assert lost_places(("one", "%(n)s runs"), ("one", "%(m)s")) == {"n", "m"}


def lost_places(texts, said):
    """Return what is put into one of two texts alone."""
    return set(PLACE.findall(str(texts))) ^ set(PLACE.findall(str(said)))


def test_a_translated_sentence_of_the_core_keeps_its_parts(tmp_path):
    some = either([further("fio", 2), further("ab", 1)])

    with translated("de", tmp_path), translation.override("de"):
        told = wording.said(some)

    assert told == "⟦⟦fio and 2 more benchmarks⟧ or ⟦ab and 1 more benchmark⟧⟧"


def test_a_visitor_reads_the_language_of_his_browser(tmp_path, client):
    with translated("de", tmp_path):
        page = client.get("/login/", headers={"accept-language": "de-AT,de"})
        other = client.get("/login/", headers={"accept-language": "fr"})

    assert page.headers["Content-Language"] == "de"
    assert "⟦Sign in⟧" in page.content.decode()
    assert other.headers["Content-Language"] == "en"
    assert "⟦" not in other.content.decode()


def test_no_script_holds_a_sentence():
    """They say what their page gives them in attributes, which its template marks."""
    scripts = list((ROOT / "dashboard").rglob("*.js"))
    said = [SENTENCE.findall(NOTE.sub("", path.read_text())) for path in scripts]

    assert len(scripts) > 10
    assert [found for found in said if found] == []
    assert SENTENCE.findall('say("Not stored yet");')


def test_words_for_people_stand_in_sentences():
    assert (
        list(bare_words(*(ROOT / room for room in ("benchmarks", "dashboard")))) == []
    )


def test_a_sentence_that_hides_its_words_is_refused(tmp_path):
    (tmp_path / "hidden.py").write_text('Sentence(f"the {side} is slow")\n')

    (found,) = bare_words(tmp_path)
    assert "hidden.py, line 1" in found


@pytest.mark.parametrize(
    "line",
    [
        'raise LineError("The line is empty.")',
        'raise fault(output, 7, "it is cut.")',
        'raise ParseError(f"{name} is empty.")',
        'raise ParseError("It is cut." if cut else "It is empty.")',
        'raise InvalidError("no_name", "It has no " + name)',
        'raise line.refused(f"it has {n} columns.")',
        'run.mark("cut", f"{name} is cut.")',
        'run.finished("It printed nothing.")',
        'finished(runs, f"{name} printed nothing.")',
        '@parser(f"{name} printed nothing.")\ndef parse(): pass',
        """return f"{name}, {_('Single runs.')}\"""",
    ],
)
def test_words_for_people_outside_of_a_sentence_are_refused(tmp_path, line):
    (tmp_path / "bare.py").write_text(f"import os\n{line}\n")

    (found,) = bare_words(tmp_path)
    assert "bare.py, line 2" in found


@pytest.mark.parametrize(
    "line",
    [
        'raise ParseError(Sentence("The file is empty."))',
        'raise ParseError("{name} is empty.", name=name)',
        'raise InvalidError("no_name", "It has no name.")',
        'raise line.refused("it has {n} columns.", n=n)',
        'run.mark("cut", "{name} is cut.", name=name)',
        'finished(runs, "It printed nothing.")',
        'raise ValueError("for programmers")',
        'run.mark("cut", CUT)',
    ],
)
def test_sentences_and_words_for_programmers_are_not(tmp_path, line):
    (tmp_path / "sound.py").write_text(f"{line}\n")

    assert list(bare_words(tmp_path)) == []
