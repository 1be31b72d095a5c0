"""All texts of pages are translatable and in the catalog."""

import re
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client
from django.utils import translation

from benchmarks.models import Agent, Cell, Flag, Lab, Membership, Study
from benchmarks.plausibility.findings import name_and_more
from benchmarks.sentences import join_with_or
from benchmarks.studies import checking
from dashboard import wording
from dashboard.management.commands.write_messages import (
    TRANSLATED_PACKAGES,
    Command,
    message_catalog,
)
from tests.dashboard.marked_language import (
    marked_language,
    translated,
    untranslated,
    words_of_data,
)
from tests.dashboard.untranslated_words import bare_words, texts_of_calls
from tests.reference_studies import load_study

# The mark makes pytest-django set up the database; studies are committed.
pytestmark = pytest.mark.django_db

SENTENCE = re.compile(r"""["'`][A-Z][^"'`\n;(]* [a-z]+""")
NOTE = re.compile(r"//.*|/\*.*?\*/", re.DOTALL)
# Attributes with numbers for style sheets, images, forms and scripts.
DRAWN = r'(?:c?[xyrd][12]?|width|height|points|transform|style)="[^"]*\d[^"]*"'
READ = r'(?:value|min|max|data-(?!separators)[a-z-]+)="[-\d.,e ]+"'
NUMBERS = re.compile(rf"\s(?:{DRAWN}|{READ})")
ROOT = Path(__file__).parents[2]
STUDIES = ("uoc-2012-kvm", "inqbus-2008-io", "heidelberg-2007-xen", "lmu-2010-esxi")


@pytest.fixture(scope="module")
def known(django_db_setup, django_db_blocker):
    """Load the studies; return every word in their data."""
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
    """Return a URL of every kind of page for every study."""
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
            yield f"{base}pair/?pin={pair[0]},{pair[1]}"
        yield f"/runs/{study.runs.first().pk}/"
    for cell in {cell.pk: cell for cell in cells()}.values():
        base = f"/studies/alpha-lab/{cell.study.slug}/"
        yield f"{base}cells/{cell.pk}/"
        yield f"{base}compare/cell/?cell={cell.pk}"


def cells():
    """Return a cell of each state of each study, including bimodal and flagged ones.

    There is a cell for each rule that flagged any.
    """
    states = "study", "efficiency__state"
    yield from Cell.objects.order_by(*states, "pk").distinct(*states)
    yield from Cell.objects.exclude(shape_codes="").order_by("pk")[:2]
    for flag in Flag.objects.order_by("rule", "pk").distinct("rule"):
        yield from Cell.objects.filter(flags=flag)[:1]


@pytest.fixture
def visitor(known, django_db_blocker):
    """Return the client of Carol, who may see and edit everything in her lab."""
    with django_db_blocker.unblock():
        carol = Client()
        carol.force_login(get_user_model().objects.get(username="carol"))
        yield carol


def test_pages_have_no_untranslatable_words(visitor, known):
    with marked_language():
        pages = {address: visitor.get(address) for address in addresses()}

    found = {
        text: address
        for address, page in pages.items()
        for text in untranslated(page, known)
    }
    assert len(pages) > 100
    assert {page.status_code for page in pages.values()} <= {200, 302, 404}
    assert not found, "\n".join(f"{found[text]}: {text}" for text in sorted(found))


def test_files_and_api_are_independent_of_the_language(visitor, tmp_path):
    pages = [address for address in addresses() if "uoc-2012-kvm" in address]

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


def test_untranslated_words_are_detected():
    page = HttpResponse(
        '<p>⟦marked⟧ forgotten</p><a title="heard" href="">⟦a ⟦nested⟧ one⟧</a>'
    )

    assert untranslated(page, {"xen"}) == ["heard", "forgotten"]


def test_the_message_catalog_is_current():
    for path, text in Command().files().items():
        assert path.read_text() == text, "make docs"


def test_all_ways_to_mark_texts_are_extracted(tmp_path):
    (tmp_path / "marked.py").write_text(
        'Sentence("the {side} is slow", side=side)\n'
        'pluralized("{n} run", "{n} runs", n=3)\n'
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

    found = {message.id for message in message_catalog(tmp_path) if message.id}

    assert found == {
        *("the {side} is slow", ("{n} run", "{n} runs"), "it waits", "yes", "no"),
        *(("one", "%(n)s"), "A rule", "heard", "%(n)s of 5 %%"),
        ("a run", "%(n)s runs"),
    }


def test_no_message_in_code_is_missing_from_the_catalog():
    """Babel reads tokens: a variable called like a function misleads it."""
    rooms = [ROOT / room for room in TRANSLATED_PACKAGES]
    found = {message.id for message in message_catalog(*rooms)}
    said = set(texts_of_calls(*rooms))

    assert len(said) > 300
    assert said - found == set()


def test_translated_domain_sentences_keep_their_values(tmp_path):
    some = join_with_or([name_and_more("fio", 2), name_and_more("ab", 1)])

    with translated("de", tmp_path), translation.override("de"):
        told = wording.translate_text(some)

    assert told == "⟦⟦fio and 2 more benchmarks⟧ or ⟦ab and 1 more benchmark⟧⟧"


def test_pages_use_the_language_of_the_browser(tmp_path, client):
    with translated("de", tmp_path):
        page = client.get("/login/", headers={"accept-language": "de-AT,de"})
        other = client.get("/login/", headers={"accept-language": "fr"})

    assert page.headers["Content-Language"] == "de"
    assert "⟦Sign in⟧" in page.content.decode()
    assert other.headers["Content-Language"] == "en"
    assert "⟦" not in other.content.decode()


def test_scripts_contain_no_sentences():
    """Scripts read their texts from attributes that templates mark for translation."""
    scripts = list((ROOT / "dashboard").rglob("*.js"))
    said = [SENTENCE.findall(NOTE.sub("", path.read_text())) for path in scripts]

    assert len(scripts) > 10
    assert [found for found in said if found] == []
    assert SENTENCE.findall('say("Not stored yet");')


def test_user_visible_texts_are_sentences():
    assert (
        list(bare_words(*(ROOT / room for room in ("benchmarks", "dashboard")))) == []
    )


def test_sentences_with_unmarked_templates_are_reported(tmp_path):
    (tmp_path / "hidden.py").write_text('Sentence(f"the {side} is slow")\n')

    (found,) = bare_words(tmp_path)
    assert "hidden.py, line 1" in found


@pytest.mark.parametrize(
    "line",
    [
        'raise LineError("The line is empty.")',
        'raise line_error_at(output, 7, "it is cut.")',
        'raise ParseError(f"{name} is empty.")',
        'raise ParseError("It is cut." if cut else "It is empty.")',
        'raise InvalidError("no_name", "It has no " + name)',
        'raise line.parse_error(f"it has {n} columns.")',
        'run.add_warning("cut", f"{name} is cut.")',
        'run.finish("It printed nothing.")',
        'finish_drafts(runs, f"{name} printed nothing.")',
        '@parser(f"{name} printed nothing.")\ndef parse(): pass',
        """return f"{name}, {_('Single runs.')}\"""",
    ],
)
def test_texts_outside_of_sentences_are_reported(tmp_path, line):
    (tmp_path / "bare.py").write_text(f"import os\n{line}\n")

    (found,) = bare_words(tmp_path)
    assert "bare.py, line 2" in found


@pytest.mark.parametrize(
    "line",
    [
        'raise ParseError(Sentence("The file is empty."))',
        'raise ParseError("{name} is empty.", name=name)',
        'raise InvalidError("no_name", "It has no name.")',
        'raise line.parse_error("it has {n} columns.", n=n)',
        'run.add_warning("cut", "{name} is cut.", name=name)',
        'finish_drafts(runs, "It printed nothing.")',
        'raise ValueError("for programmers")',
        'run.add_warning("cut", CUT)',
    ],
)
def test_sentences_and_developer_texts_are_not_reported(tmp_path, line):
    (tmp_path / "sound.py").write_text(f"{line}\n")

    assert list(bare_words(tmp_path)) == []
