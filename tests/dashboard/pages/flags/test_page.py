"""The flags of a study, and decisions by editors."""

import re
from datetime import timedelta

import pytest

from benchmarks.jobs.queue import enqueue_checks
from benchmarks.models import Cell, Flag, FlagDecision, Membership, Run
from benchmarks.studies import checking
from dashboard.wording.flag_evidence import evidence_items

PAGE = "/studies/alpha-lab/study/flags/"


@pytest.fixture
def flag(pair):
    """Create a flag on the run of a cell."""
    mark = {"code": "not_valid", "sentence": "It was <too> short."}
    Run.objects.filter(pk=Run.objects.first().pk).update(warnings=[mark])
    checking.check_study(pair.study)
    return Flag.objects.get(rule="tool-mark")


def decision(client, flag, **said):
    said = {"status": "dismissed", "note": "Known since 2012.", **said}
    return client.post(f"/flags/{flag.pk}/decide/", said, follow=True)


def test_shows_finding_rule_and_evidence(client, flag):
    page = client.get(PAGE).content.decode()

    assert "It was &lt;too&gt; short." in page
    assert f"/runs/{Run.objects.first().pk}/" in page
    assert "tool-mark" in page
    assert "Decide" not in page


def test_cell_page_shows_flag(text, flag):
    cell = flag.cells.get()

    page = text(f"/studies/alpha-lab/study/cells/{cell.pk}/")

    assert "too&gt; short" in page


def test_editor_decides(client, flag, person):
    client.force_login(person)

    page = decision(client, flag).content.decode()

    assert "Your decision and note were saved" in page
    assert "Known since 2012." in page
    made = FlagDecision.objects.get()
    assert (made.status, made.decided_by, made.person) == ("dismissed", "carol", person)
    assert "No open flags" in client.get(PAGE).content.decode()
    assert "Known since 2012." in client.get(PAGE, {"status": "all"}).content.decode()


def test_decision_needs_reason(client, flag, person):
    client.force_login(person)

    page = decision(client, flag, note=" ").content.decode()

    assert "Give the reason in a note" in page
    assert not FlagDecision.objects.exists()


@pytest.mark.parametrize("status", ["", "gone"])
def test_unknown_decision_is_404(client, flag, person, status):
    client.force_login(person)

    assert decision(client, flag, status=status).status_code == 404


def test_others_cannot_decide(client, flag, person, other_lab):
    assert "/login/" in decision(client, flag).request["PATH_INFO"]

    client.force_login(person)
    Membership.objects.update(role=Membership.Role.VIEWER)
    assert decision(client, flag).status_code == 404
    Membership.objects.update(role=Membership.Role.ADMIN, lab=other_lab)
    assert decision(client, flag).status_code == 404
    assert not FlagDecision.objects.exists()


def test_evidence_has_unit(flag):
    told = evidence_items({"off_percent": -5.6, "work_s": 12, "factor": 2})

    assert [(each.name, each.text) for each in told] == [
        ("difference", "-5.6%"),
        ("work", "12\xa0s"),
        ("factor", "2"),
    ]


def test_rules_are_listed_with_findings(text, load_study):
    load_study("lmu-2010-xen", lambda run: run["tool"] == "iometer")
    checking.check_study(
        load_study("lmu-2010-esxi", lambda run: run["tool"] == "iometer")
    )

    page = text("/studies/alpha-lab/lmu-2010-esxi/flags/")

    assert '<a href="#rule-implausible-baselines-disagree">' in page
    assert "5.6% lower (median) than" in page


def test_rule_with_many_findings_shows_few_unless_chosen(client, flag, study):
    for at in range(11):
        Flag.objects.create(
            lab=flag.lab,
            study=study,
            rule=flag.rule,
            severity=flag.severity,
            fingerprint=f"{at}",
            message=f"Finding {at}.",
        )

    page = client.get(PAGE).content.decode()
    more = re.search(r'href="(\?status=open&amp;rule=[^"]+)"', page)[1]
    whole = client.get(PAGE + more.replace("&amp;", "&")).content.decode()

    assert "12 findings" in page
    assert page.count('class="flag flag-') == 3
    assert whole.count('class="flag flag-') == 12
    assert "Finding 10." in whole
    assert "Finding 10." not in page


def test_checks_are_folded_next_to_impossible_findings(client, flag, study):
    check = {"rule": "a-check", "severity": "check", "fingerprint": "x"}
    Flag.objects.create(lab=flag.lab, study=study, message="Check it", **check)

    page = client.get(PAGE).content.decode()
    alone = client.get(PAGE, {"rule": "a-check"}).content.decode()

    folded = page.partition("data-folded")[2]
    assert "Check it" in folded
    assert flag.message not in folded
    assert "data-folded" not in alone
    assert '<details class="rule-text" open>' in alone


def test_chosen_rule_without_findings_is_reported(client, flag):
    page = client.get(PAGE, {"rule": "nothing\0"}).content.decode()

    assert "rule=nothing" in page
    assert page.count('class="flag flag-') == 1


def test_empty_page_reports_no_findings(client, pair):
    checking.check_due_studies(timedelta(0))
    Flag.objects.all().delete()

    assert "No open flags" in client.get(PAGE).content.decode()


def test_pending_checks_are_reported(client, pair):
    enqueue_checks([pair.study_id])

    assert "may still change" in client.get(PAGE).content.decode()


def test_query_count_is_constant(client, flag, django_assert_num_queries):
    Flag.objects.get().cells.add(*Cell.objects.all())

    with django_assert_num_queries(9):
        client.get(PAGE)
