"""Verdicts on the cells of a study, and gates that withhold them."""

from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.comparison.study_verdicts import study_verdicts
from benchmarks.jobs.queue import enqueue_checks
from benchmarks.models import (
    Cell,
    CellSession,
    Flag,
    Job,
    Run,
    Session,
    Study,
    System,
)
from benchmarks.studies import checking
from benchmarks.studies.session_corrections import correct_sessions
from tests.upload_documents import in_turn

NATIVE = (100.0, 100.4, 99.7, 100.1, 99.9, 100.2)
SLOW = (80.0, 80.3, 79.9, 80.1, 79.8, 80.2)
AT_ONCE = timedelta(0)


@pytest.fixture
def pair_of(submit, run_document, xen, study):
    """Measure a native and a Xen system; return the assessment of the Xen cell."""

    def measure(native=NATIVE, vm=SLOW, is_in_turn=False, **changes):
        changes = {"session": "Monday", **changes}
        natives = [run_document(value, **changes) for value in native]
        guests = [run_document(value, system=xen, **changes) for value in vm]
        if is_in_turn:
            runs = in_turn([*natives[:3], *guests, *natives[3:]])
        else:
            runs = [*natives, *guests]
        submit(*runs)
        checking.check_due_studies(AT_ONCE)
        return judged(study)

    return measure


def judged(study, hypervisor="Xen", reference=None):
    checking.check_due_studies(timedelta(0))
    cell = Cell.objects.get(system__hypervisor=hypervisor)
    return study_verdicts(study, reference).assessment(cell.pk)


def test_a_clear_loss_is_slower(pair_of):
    assessment = pair_of()

    assert (assessment.verdict, assessment.evidence_level) == ("slower", "verdict")
    assert assessment.low < 0.8 < assessment.high < 0.81


def test_the_same_speed_is_equivalent(pair_of):
    assert pair_of(vm=NATIVE[::-1]).verdict == "equivalent"


@pytest.mark.parametrize(
    ("runs", "code"), [(1, "single_run"), (2, "two_runs"), (4, "few_runs")]
)
def test_few_runs_have_no_verdict_but_advice(pair_of, runs, code):
    assessment = pair_of(NATIVE[:runs], SLOW[:runs])

    assert (assessment.verdict, assessment.reason_codes) == ("not_assessed", (code,))
    assert "run" in assessment.advice.lower()


def test_the_native_side_gets_no_verdict(pair_of, study):
    pair_of()

    assert judged(study, "native").reason_codes == ("native",)


def test_another_session_withholds_the_verdict(submit, run_document, xen, study):
    submit(*(run_document(value, session="Monday") for value in NATIVE))
    submit(*(run_document(value, session="Friday", system=xen) for value in SLOW))
    checking.check_due_studies(AT_ONCE)

    assert judged(study).reason_codes == ("unrepeated",)


def test_bimodal_runs_withhold_the_verdict(pair_of, study):
    pair_of(vm=(80, 80.1, 120, 79.9, 80.2, 120.2, 80.1, 80.0, 119.8, 80.1, 79.9))

    assessment = judged(study)

    assert assessment.verdict == "not_assessed"
    assert "bimodal" in assessment.reason_codes


@pytest.mark.parametrize("hypervisor", ["Xen", "native"])
@pytest.mark.parametrize(
    ("status", "verdict"),
    [("open", "not_assessed"), ("confirmed", "not_assessed"), ("dismissed", "slower")],
)
def test_a_flag_withholds_until_it_is_dismissed(
    pair_of, study, hypervisor, status, verdict
):
    pair_of()
    flag = Flag.objects.create(
        lab=study.lab, study=study, rule="x", severity="impossible", status=status
    )
    flag.cells.add(Cell.objects.get(system__hypervisor=hypervisor))

    assert judged(study).verdict == verdict


@pytest.mark.parametrize(
    ("visibility", "is_quoted"), [("public", True), ("private", False)]
)
def test_a_reason_quotes_a_flag_unless_it_quotes_a_hidden_study(
    pair_of, study, visibility, is_quoted
):
    pair_of()
    other = Study.objects.create(
        lab=study.lab, slug="other", title="Other", visibility=visibility
    )
    flag = Flag.objects.create(
        lab=study.lab, study=study, rule="x", severity="impossible", message="8 runs."
    )
    flag.cells.set(Cell.objects.filter(system__hypervisor="Xen"))
    flag.quoted_studies.set([study, other])

    (reason,) = judged(study).sentences

    assert ("8 runs." in reason) == is_quoted


def test_a_notice_withholds_nothing(pair_of, study):
    pair_of()
    flag = Flag.objects.create(lab=study.lab, study=study, rule="x", severity="check")
    flag.cells.set(Cell.objects.all())

    assert judged(study).verdict == "slower"


def test_a_chosen_reference_is_compared_directly(pair_of, submit, run_document, study):
    pair_of()
    submit(*(run_document(value / 2.5, system={"hypervisor": "KVM"}) for value in SLOW))
    kvm = System.objects.get(hypervisor="KVM")

    assert judged(study, "Xen", kvm).ratio == pytest.approx(2.5, rel=0.01)
    assert judged(study, "Xen", kvm).verdict == "faster"
    assert judged(study, "KVM", kvm).reason_codes == ("native",)


@pytest.mark.parametrize(
    ("native", "vm", "codes"),
    [
        ({"session": "Monday"}, {"session": "Friday"}, ("unrepeated",)),
        (
            {"started_at": "2026-01-01T00:00:00Z"},
            {"started_at": "2026-03-01T00:00:00Z"},
            ("stale_baseline", "unrepeated"),
        ),
        (
            {"facts": {"host_kernel": "5.10"}},
            {"facts": {"host_kernel": "6.12"}},
            ("stale_baseline", "untimed"),
        ),
    ],
)
def test_choosing_the_native_system_keeps_the_gates(
    submit, run_document, xen, study, native, vm, codes
):
    submit(*(run_document(value, **native) for value in NATIVE))
    submit(*(run_document(value, system=xen, **vm) for value in SLOW))
    checking.check_due_studies(AT_ONCE)
    chosen = System.objects.get(hypervisor="native")

    assert judged(study).reason_codes == codes
    assert judged(study, reference=chosen).reason_codes == codes


def test_the_detected_session_counts_for_a_chosen_system(
    submit, run_document, xen, study
):
    """Names that agents generate for their starts do not count."""
    for name, values, side in (
        ("agent-0123456789ab", NATIVE, {}),
        ("agent-ba9876543210", SLOW, {"system": xen}),
    ):
        submit(*(run_document(value, session=name, **side) for value in values))
    chosen = System.objects.get(hypervisor="native")

    checking.check_due_studies(AT_ONCE)
    assert judged(study, reference=chosen).reason_codes == judged(study).reason_codes


def test_one_session_may_have_two_declared_names(submit, run_document, xen, study):
    submit(*(run_document(value, session="Monday") for value in NATIVE))
    submit(*(run_document(value, session="Friday", system=xen) for value in SLOW))
    checking.check_due_studies(AT_ONCE)
    chosen = System.objects.get(hypervisor="native")
    assert "unrepeated" in judged(study, reference=chosen).reason_codes

    friday = Run.objects.filter(declared_session__name="Friday").values_list(
        "pk", flat=True
    )
    monday = Session.objects.get(name="Monday")
    correct_sessions(study=study, name=monday.name, actor="carol", runs=list(friday))
    checking.check_due_studies(AT_ONCE)

    assert judged(study, reference=chosen).reason_codes == ()


def test_two_hypervisors_may_have_different_kernels(submit, run_document, xen, study):
    kvm = {"hypervisor": "KVM"}
    for system, kernel, values in ((xen, "5.10", SLOW), (kvm, "6.12", NATIVE)):
        stated = {"session": "Monday", "facts": {"host_kernel": kernel}}
        submit(*(run_document(each, system=system, **stated) for each in values))
    checking.check_due_studies(AT_ONCE)

    chosen = System.objects.get(hypervisor="KVM")

    assert judged(study, reference=chosen).verdict == "slower"


def test_a_study_may_set_another_margin(pair_of, study):
    study.equivalence_margin_percent = 25
    study.save()

    assert pair_of().verdict == "equivalent"


def test_an_empty_study_has_no_verdicts(study):
    assert study_verdicts(study).assessment(1) is None
    assert study_verdicts(study).tested_count == 0


def test_verdicts_need_a_fixed_number_of_queries(
    pair_of, study, django_assert_num_queries
):
    pair_of()

    with django_assert_num_queries(4):
        study_verdicts(study)


@pytest.mark.parametrize("hypervisor", ["Xen", "native"])
def test_a_suspect_clock_withholds_the_verdict(pair_of, study, hypervisor):
    """A clock that lost 3 s of 103, on either side."""
    pair_of(clock="local")
    report = {"local_us": 10**8, "offset_start_us": 0, "offset_end_us": -3 * 10**6}
    run = Run.objects.filter(system__hypervisor=hypervisor).first()
    Run.objects.filter(pk=run.pk).update(facts={"clock": report})
    Cell.objects.update(shaped_at=None)

    checking.check_study(study)

    states = dict(Cell.objects.values_list("system__hypervisor", "clock_trust"))
    assert states[hypervisor] == "suspect"
    assert "clock_suspect" in judged(study).reason_codes


def test_an_unchecked_clock_keeps_the_verdict(pair_of, study):
    pair_of(clock="guest")

    assert set(Cell.objects.values_list("clock_trust", flat=True)) == {"unchecked"}
    assert judged(study).verdict == "slower"


def energies(submit, run_document, xen, meters):
    sample = {"metric": "energy", "parameters": {}, "unit": "J"}
    for system, meter, scale in (({}, meters[0], 1), (xen, meters[1], 1.01)):
        submit(
            *(
                run_document(
                    tool="power-csv",
                    session="Monday",
                    system=system,
                    facts={"meter": meter} if meter else {},
                    samples=[{**sample, "value": value * scale}],
                )
                for value in NATIVE
            )
        )


@pytest.mark.parametrize(
    ("meters", "codes"),
    [
        (("A", "B"), ("within_meter_error",)),
        (("A", "A"), ()),
        (("", "B"), ()),
    ],
)
def test_two_meters_may_disagree_by_more_than_two_systems(
    submit, run_document, xen, study, meters, codes
):
    energies(submit, run_document, xen, meters)
    checking.check_due_studies(AT_ONCE)

    assert judged(study).reason_codes == codes


@pytest.fixture
def day_by_day(submit, run_document, xen, study):
    """Measure each side on given days; return the assessment of the Xen cell."""

    def measure(native_days, vm_days, vm=0.8):
        for days, ratio, changes in (
            (native_days, 1.0, {}),
            (vm_days, vm, {"system": xen}),
        ):
            for day in days:
                for run, value in enumerate((99.8, 100.3, 100.1)):
                    started = f"2026-05-0{day}T10:0{run}:00Z"
                    # A day affects both sides equally.
                    value = ratio * value * (1 + 0.03 * (day % 3))
                    submit(run_document(value, started_at=started, **changes))
        checking.check_due_studies(AT_ONCE)
        return judged(study)

    return measure


def test_sessions_that_both_sides_share_decide(day_by_day):
    assessment = day_by_day((1, 2, 3), (1, 2, 3))

    assert (assessment.verdict, assessment.design) == ("slower", "shared")
    assert assessment.scope == "across 3 sessions"
    assert assessment.sessions == (3, 3, 3)
    assert assessment.ratio == pytest.approx(0.8)
    assert assessment.between_sd < 0.001


def test_unrepeated_days_have_no_verdict(day_by_day):
    assessment = day_by_day((1,), (2,), vm=0.9)

    assert (assessment.verdict, assessment.reason_codes[-1:]) == (
        "not_assessed",
        ("unrepeated",),
    )
    assert assessment.ratio == pytest.approx(0.9, rel=0.1)


def test_one_session_is_named_by_its_day(submit, run_document, xen, study):
    for side, ratio in (({}, 1), ({"system": xen}, 0.8)):
        for run, value in enumerate(NATIVE):
            started = f"2026-05-03T10:0{run}:00Z"
            submit(run_document(ratio * value, started_at=started, **side))
    checking.check_due_studies(AT_ONCE)

    assessment = judged(study)
    assert assessment.design == "interleaved"
    assert assessment.scope == "in 6 interleaved pairs in the session of 2026-05-03"


def test_unknown_times_are_weakly_assumed_to_be_one_session(pair_of):
    assessment = pair_of(session="")

    assert (assessment.design, assessment.is_weak) == ("assumed_one_session", True)


def test_nothing_is_claimed_before_the_check(
    day_by_day, submit, run_document, xen, study
):
    day_by_day((1, 2, 3), (1, 2, 3))
    submit(run_document(80.0, system=xen, started_at="2026-05-03T11:00:00Z"))

    cell = Cell.objects.get(system__hypervisor="Xen")
    unchecked = study_verdicts(study)
    assessment = unchecked.assessment(cell.pk)
    assert (assessment.verdict, assessment.reason_codes) == (
        "not_assessed",
        ("being_checked",),
    )
    assert (assessment.low, assessment.scope, assessment.advice) == (None, "", "")
    assert unchecked.cells_being_checked == {cell.pk}
    assert cell.pk not in unchecked.table_ratios()
    assert judged(study).verdict == "slower"


def test_a_check_because_of_other_studies_keeps_the_verdicts(pair_of, study):
    pair_of()
    enqueue_checks([study.pk], others_changed=True)
    cell = Cell.objects.get(system__hypervisor="Xen")

    assert study_verdicts(study).assessment(cell.pk).verdict == "slower"

    enqueue_checks([study.pk])
    assert study_verdicts(study).cells_being_checked == {cell.pk}


def test_a_check_that_failed_finally_keeps_the_verdicts(pair_of, study):
    pair_of()
    enqueue_checks([study.pk])
    Job.objects.update(quarantined_at=timezone.now())

    assert not study_verdicts(study).cells_being_checked


def test_very_slow_bimodal_runs_are_slower(pair_of, study):
    pair_of(vm=(40, 40.1, 60, 39.9, 40.2, 60.2, 40.1, 40.0, 59.8, 40.1, 39.9))
    checking.check_due_studies(AT_ONCE)

    assessment = judged(study)

    assert (assessment.verdict, assessment.ratio) == ("slower", None)
    assert assessment.range == (
        pytest.approx(39.9 / 100.4),
        pytest.approx(60.2 / 99.7),
    )
    assert assessment.sentences[0].startswith(
        "Every run is slower than every run of the baseline (ratio 0.397 to"
    )


COLD = (98.5, 90.0, 90.3, 89.9, 90.1, 89.8, 90.2, 90.0, 90.1, 89.9)


@pytest.mark.parametrize("is_cell", [True, False])
def test_a_cold_first_run_is_counted_against_the_interval(pair_of, study, is_cell):
    # The first run of one side overlaps the other side: no separation.
    own = COLD if is_cell else COLD[1:]
    native = NATIVE if is_cell else (91.0, *NATIVE[1:])
    pair_of(native=native, vm=own, is_in_turn=True)

    assessment = judged(study)

    assert (assessment.verdict, assessment.ratio) == ("slower", None)
    assert "slower even in the worst case" in assessment.sentences[0]


def test_an_order_not_checked_since_the_upgrade_remains_a_gate(pair_of, study):
    pair_of(vm=COLD, is_in_turn=True)
    # As after an upgrade: sessions have no stored first run.
    Cell.objects.update(order_shift=None)
    CellSession.objects.update(first_mean=None)

    assert judged(study).reason_codes == ("first_run",)


def test_a_table_and_a_card_show_the_same_ratio(day_by_day, study):
    assessment = day_by_day((1, 2, 3), (1, 2, 3))
    verdicts = study_verdicts(study)
    cell = Cell.objects.get(system__hypervisor="Xen")

    assert verdicts.table_ratios()[cell.pk].ratio == assessment.ratio
