"""The scope of verdicts, and ranges of ratios instead of a single value."""

from datetime import timedelta

import pytest

from benchmarks.models import Cell
from benchmarks.studies import checking
from tests.dashboard.markup import unbroken

STUDY = "/studies/alpha-lab/study"
STEADY = (100.0, 100.4, 99.7, 100.1, 99.9, 100.2)
TWO_SPEEDS = (40, 40.1, 60, 39.9, 40.2, 60.2, 40.1, 40.0, 59.8, 40.1, 39.9)


@pytest.fixture
def measured(submit, run_document, xen):
    """Measure native and Xen on 3 May; return the Xen cell."""

    def measure(values, day=3):
        for side, readings, on in (({}, STEADY, 3), ({"system": xen}, values, day)):
            for run, value in enumerate(readings):
                # The guest runs between the first and the last native runs.
                minute = run + (10 if side else 40 * (run >= 3))
                started = f"2026-05-{on:02}T10:{minute:02}:00Z"
                submit(run_document(value, started_at=started, **side))
        checking.check_due_studies(timedelta(0))
        return Cell.objects.get(system__hypervisor="Xen")

    return measure


@pytest.fixture
def said(client):
    return lambda address: client.get(f"{STUDY}/{address}").text


def test_verdict_names_session(measured, said):
    cell = measured([0.8 * value for value in STEADY])

    page = said(f"cells/{cell.pk}/")

    assert 'data-design="one_shared"' in page
    assert "in the session of 2026-05-03" in page
    assert "in the session of 2026-05-03" in said(f"compare/cell/?cell={cell.pk}")


def test_range_of_ratios_replaces_single_value(measured, said, client):
    cell = measured(TWO_SPEEDS)
    pins = f"{cell.system_id},{Cell.objects.exclude(pk=cell.pk).get().system_id}"

    pages = [
        said(address)
        for address in (
            f"cells/{cell.pk}/",
            "compare/",
            f"compare/cell/?cell={cell.pk}",
            f"pair/?pin={pins}",
        )
    ]

    # 39.9 / 100.4 to 60.2 / 99.7
    assert ["0.397 to 0.604" in page for page in pages] == [True] * 4
    assert "Every run is slower" in pages[0]


def test_files_have_range_of_ratios(measured, client):
    measured(TWO_SPEEDS)

    texts = {
        form: client.get(f"{STUDY}/compare.{form}").text
        for form in ("csv", "json", "tex")
    }

    assert "ratio_range_low" in texts["csv"]
    assert '"design": "one_shared"' in texts["json"]
    assert "0.397" in texts["tex"]


def test_different_sessions_have_advice_about_sessions(measured, said):
    cell = measured([0.95 * value for value in STEADY], day=7)

    page = said(f"cells/{cell.pk}/")

    assert "the variation between sessions is unknown" in page
    assert "Run both systems together in one session, or better in 3" in page
    assert "of each system in one session" not in page


def test_different_sessions_are_hollow_with_note(measured, said):
    cell = measured([0.95 * value for value in STEADY], day=7)
    native = Cell.objects.exclude(pk=cell.pk).get()
    hollow = "Hollow: the two systems ran in different sessions"

    compare, direct, card, chart = (
        said(address)
        for address in (
            "compare/",
            f"pair/?pin={cell.system_id},{native.system_id}",
            f"compare/cell/?cell={cell.pk}",
            "compare/chart/",
        )
    )

    assert [hollow in page for page in (compare, direct, card)] == [True] * 3
    assert ['"interval-bar hollow"' in page for page in (direct, card)] == [True] * 2
    assert "circle-open" in chart


def test_pages_and_files_state_verdict_scope(measured, said, client):
    measured([0.8 * value for value in STEADY])
    held = "1 verdict holds in the session of 2026-05-03."

    files = {
        form: client.get(f"{STUDY}/compare.{form}").text
        for form in ("csv", "json", "tex")
    }

    assert held in said("compare/")
    assert held in unbroken(files["tex"].replace("\\hspace{0pt}", ""))
    assert "in the session of 2026-05-03" in files["csv"]
    assert "in the session of 2026-05-03" in files["json"]
    assert held in said("report/")
    assert "slower, in the session of 2026-05-03" in said("report/")


def test_verdict_without_times_is_weak_evidence(
    submit, run_document, xen, said, client
):
    # A difference that no day explains.
    for side, factor in (({}, 1.0), ({"system": xen}, 0.4)):
        submit(*(run_document(factor * value, **side) for value in STEADY))
    checking.check_due_studies(timedelta(0))

    compare, report = said("compare/"), said("report/")
    source = client.get(f"{STUDY}/compare.tex").text

    assert 'aria-label="Verdict: slower. Weak evidence."' in compare
    assert "data-weak" in compare
    assert "weak evidence" in report
    assert "weak evidence: start times are not reported" in source
    assert '"is_weak": true' in client.get(f"{STUDY}/compare.json").text


def test_sessions_that_count_as_one_are_named_together(submit, run_document, xen, said):
    for side, factor in (({}, 1.0), ({"system": xen}, 0.8)):
        for minute, value in enumerate(STEADY):
            submit(
                run_document(
                    factor * value,
                    session="early" if minute < 3 else "late",
                    started_at=f"2026-05-03T10:{minute:02}:00Z",
                    **side,
                )
            )
    checking.check_due_studies(timedelta(0))
    cell = Cell.objects.get(system__hypervisor="Xen")

    page = said(f"cells/{cell.pk}/")

    assert "early, late" in page
    assert "less than six hours apart" in page
    assert "in the session of 2026-05-03" in page
    assert "less than six hours apart" in said("sessions/")
