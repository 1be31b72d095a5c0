"""The flags of a study: seen by everybody, decided by who keeps the lab."""

import re
from datetime import timedelta

import pytest

from benchmarks.models import Cell, Decision, Flag, Membership, Run
from benchmarks.studies import checking
from dashboard.wording.states import evidence_words

PAGE = "/studies/alpha-lab/study/flags/"


@pytest.fixture
def flag(pair):
    """A doubt about the run behind a cell."""
    mark = {"code": "not_valid", "sentence": "It was <too> short."}
    Run.objects.filter(pk=Run.objects.first().pk).update(warnings=[mark])
    checking.check_due_studies(timedelta(0))
    return Flag.objects.get(rule="tool-mark")


def decision(client, flag, **said):
    said = {"status": "dismissed", "note": "Known since 2012.", **said}
    return client.post(f"/flags/{flag.pk}/decide/", said, follow=True)


def test_it_shows_the_doubt_its_rule_and_its_evidence(client, flag):
    page = client.get(PAGE).content.decode()

    assert "It was &lt;too&gt; short." in page
    assert f"/runs/{Run.objects.first().pk}/" in page
    assert "tool-mark" in page
    assert "Decide" not in page


def test_the_cell_says_it_too(text, flag):
    cell = flag.cells.get()

    page = text(f"/studies/alpha-lab/study/cells/{cell.pk}/")

    assert "too&gt; short" in page


def test_who_keeps_the_lab_decides(client, flag, person):
    client.force_login(person)

    page = decision(client, flag).content.decode()

    assert "Your decision is kept" in page
    assert "Known since 2012." in page
    made = Decision.objects.get()
    assert (made.status, made.who, made.person) == ("dismissed", "carol", person)
    assert "No flag is open" in client.get(PAGE).content.decode()
    assert "Known since 2012." in client.get(PAGE, {"status": "all"}).content.decode()


def test_a_decision_without_a_reason_is_refused(client, flag, person):
    client.force_login(person)

    page = decision(client, flag, note=" ").content.decode()

    assert "Give the reason in a note" in page
    assert not Decision.objects.exists()


@pytest.mark.parametrize("status", ["", "gone"])
def test_an_unknown_decision_is_not_found(client, flag, person, status):
    client.force_login(person)

    assert decision(client, flag, status=status).status_code == 404


def test_nobody_else_decides(client, flag, person, other_lab):
    assert "/login/" in decision(client, flag).request["PATH_INFO"]

    client.force_login(person)
    Membership.objects.update(role=Membership.Role.VIEWER)
    assert decision(client, flag).status_code == 404
    Membership.objects.update(role=Membership.Role.ADMIN, lab=other_lab)
    assert decision(client, flag).status_code == 404
    assert not Decision.objects.exists()


def test_evidence_has_its_unit(flag):
    told = evidence_words({"off_percent": -5.6, "work_s": 12, "factor": 2})

    assert [(each.name, each.text) for each in told] == [
        ("off", "-5.6\xa0%"),
        ("work", "12\xa0s"),
        ("factor", "2"),
    ]


def test_rules_are_listed_with_what_they_found(text, load_study):
    load_study("lmu-2010-xen", lambda run: run["tool"] == "iometer")
    checking.check_study(
        load_study("lmu-2010-esxi", lambda run: run["tool"] == "iometer")
    )

    page = text("/studies/alpha-lab/lmu-2010-esxi/flags/")

    assert '<a href="#rule-impossible-baselines-disagree">' in page
    assert "5.6\xa0% less than the same machine in lmu-2010-xen" in page


def test_of_a_rule_with_many_findings_a_few_are_shown_until_it_is_asked_for(
    client, flag, study
):
    for at in range(11):
        Flag.objects.create(
            lab=flag.lab,
            study=study,
            rule=flag.rule,
            severity=flag.severity,
            fingerprint=f"{at}",
            sentence=f"Finding {at}.",
        )

    page = client.get(PAGE).content.decode()
    more = re.search(r'href="(\?status=open&amp;rule=[^"]+)"', page)[1]
    whole = client.get(PAGE + more.replace("&amp;", "&")).content.decode()

    assert "12 findings" in page
    assert page.count('class="flag flag-') == 3
    assert whole.count('class="flag flag-') == 12
    assert "Finding 10." in whole
    assert "Finding 10." not in page


def test_what_may_be_right_is_folded_beside_what_cannot_be(client, flag, study):
    check = {"rule": "a-check", "severity": "check", "fingerprint": "x"}
    Flag.objects.create(lab=flag.lab, study=study, sentence="Look at it.", **check)

    page = client.get(PAGE).content.decode()
    alone = client.get(PAGE, {"rule": "a-check"}).content.decode()

    folded = page.partition("data-folded")[2]
    assert "Look at it." in folded
    assert flag.sentence not in folded
    assert "data-folded" not in alone
    assert '<details class="rule-text" open>' in alone


def test_a_rule_that_found_nothing_is_said_to_be_unmet(client, flag):
    page = client.get(PAGE, {"rule": "nothing\0"}).content.decode()

    assert "rule=nothing" in page
    assert page.count('class="flag flag-') == 1


def test_an_empty_page_says_that_nothing_was_found(client, pair):
    checking.check_due_studies(timedelta(0))
    Flag.objects.all().delete()

    assert "No flag is open" in client.get(PAGE).content.decode()


def test_it_says_when_the_flags_may_still_change(client, pair):
    assert "may still change" in client.get(PAGE).content.decode()


def test_its_queries_are_fixed(client, flag, django_assert_num_queries):
    Flag.objects.get().cells.add(*Cell.objects.all())

    with django_assert_num_queries(9):
        client.get(PAGE)
