"""The cost of a system by component."""

from math import exp, log, sqrt

import pytest

from benchmarks.comparison.overhead_profile import profile, spectrum, study_profile
from benchmarks.models import Cell, Flag, Study
from benchmarks.studies.overview import study_cards
from benchmarks.viewer import ANYONE, Viewer
from tests.comparison_rows import MEASURED, NATIVE, changed


def guest(number, ratios, **changes):
    """Return a system's cells of some cases, six runs each."""
    return [
        changed(
            MEASURED,
            id=100 * number + case,
            system_id=number,
            guest_os=f"Linux {number}",
            case_id=case,
            case=f"Case {case}",
            efficiency=ratio,
            **changes,
        )
        for case, ratio in ratios.items()
    ]


def test_a_component_has_its_geometric_mean_interval_spread_and_worst_case():
    whole = profile(guest(2, {1: 0.5, 2: 0.8, 3: 1.25}), {})

    ((share,),) = [row.component_means for row in whole.rows]
    logs = [log(0.5), log(0.8), log(1.25)]
    mean = sum(logs) / 3
    deviation = sqrt(sum((each - mean) ** 2 for each in logs) / 2)
    assert share.mean == pytest.approx(exp(mean))
    assert share.spread == pytest.approx(exp(deviation))
    # 4.3027: the 97.5 % quantile of t with two degrees of freedom.
    half = 4.302653 * deviation / sqrt(3)
    assert share.low == pytest.approx(exp(mean - half))
    assert share.high == pytest.approx(exp(mean + half))
    assert (share.minimum, share.maximum) == (0.5, 1.25)
    assert share.slowest_case == "Iometer: Case 1"
    assert (share.case_count, share.runs, share.min_runs) == (3, 18, 5)


def test_only_cases_that_all_systems_have_are_counted():
    rows = [*guest(2, {1: 0.5, 2: 0.9}), *guest(3, {1: 0.7, 3: 0.1})]

    first, second = (row.known_means[0] for row in profile(rows, {}).rows)

    assert (first.mean, second.mean) == (pytest.approx(0.5), pytest.approx(0.7))
    assert (first.case_count, first.excluded_count) == (1, 2)
    assert (first.low, first.high, first.spread) == (None, None, None)


def test_systems_without_a_common_case_have_no_component_mean():
    whole = profile([*guest(2, {1: 0.5}), *guest(3, {2: 0.7})], {})

    assert [row.component_means for row in whole.rows] == [(None,), (None,)]


def test_a_single_run_removes_the_interval():
    rows = [*guest(2, {1: 0.5}), *guest(2, {2: 0.9}, baseline_n=1)]

    (share,) = profile(rows, {}).rows[0].known_means

    assert (share.low, share.high, share.min_runs) == (None, None, 1)
    assert share.spread is not None


def test_run_noise_widens_a_too_narrow_interval():
    rows = guest(2, {1: 0.8, 2: 0.8, 3: 0.8})

    (quiet,) = profile(rows, {}).rows[0].known_means
    (noisy,) = profile(rows, {row.id: 0.01 for row in rows}).rows[0].known_means

    assert quiet.high - quiet.low < 1e-9
    assert noisy.high == pytest.approx(0.8 * exp(4.302653 * 0.1 / sqrt(3)))


def test_components_of_a_profile_are_ordered():
    rows = [*guest(2, {1: 0.5}), *guest(2, {2: 0.9}, component="CPU")]

    whole = profile(rows, {})

    assert whole.components == ("CPU", "network")
    assert [share.mean for share in whole.rows[0].known_means] == pytest.approx(
        [0.9, 0.5]
    )


def test_implied_metrics_do_not_count_twice():
    rows = [
        *guest(2, {1: 0.5}, metric="disk throughput"),
        *guest(2, {2: 0.9}, metric="IOps"),
        *guest(2, {3: 0.1}, metric="response time max"),
    ]

    (share,) = profile(rows, {}).rows[0].known_means

    assert (share.mean, share.case_count) == (pytest.approx(0.5), 1)


def test_native_cells_and_those_without_a_ratio_have_no_row():
    assert profile([NATIVE, changed(MEASURED, efficiency=None)], {}).rows == ()


def test_ratios_to_a_reference_are_marked_relative():
    rows = guest(2, {1: None}, relative=0.9)

    assert profile(rows, {}).is_relative
    assert profile(rows, {}).rows[0].known_means[0].mean == pytest.approx(0.9)


def test_flagged_cases_are_counted_and_kept():
    rows = guest(2, {1: 0.5, 2: 0.5})

    (share,) = profile(rows, {}, flagged_cells={rows[0].id}).rows[0].known_means

    assert (share.flagged_count, share.case_count) == (1, 2)


def test_it_is_read_from_stored_cells_in_a_fixed_number_of_queries(
    study, submit, run_document, xen, django_assert_num_queries
):
    submit(run_document(52.97), run_document(13.08, system=xen))
    submit(run_document(99.0, system=xen, scenario="parallel", vms=2, slot="1"))

    with django_assert_num_queries(7):
        whole = study_profile(ANYONE, study)

    (row,) = whole.rows
    assert row.column.system_id == Cell.objects.get(mean=13.08).system_id
    assert row.known_means[0].mean == pytest.approx(13.08 / 52.97)
    assert whole.components == ("network",)


def test_it_counts_the_cases_whose_baseline_is_of_another_session():
    rows = [
        *guest(2, {1: 0.5}),
        *guest(2, {2: 0.9}, state="stale"),
        *guest(2, {3: 0.9}, state="other_session"),
    ]

    (share,) = profile(rows, {}).rows[0].known_means

    assert (share.case_count, share.unpaired_count) == (3, 2)


def test_it_has_a_band_for_each_component_and_hypervisor(submit, run_document, xen):
    submit(run_document(), run_document(13.08, system=xen))

    (band,) = spectrum(study_cards(ANYONE))

    assert (band.component, band.hypervisor, band.pairs) == ("network", "Xen 3.3", 1)
    assert band.lowest == band.highest == pytest.approx(13.08 / 52.97)
    assert band.lines == (pytest.approx(13.08 / 52.97, rel=0.02),)


def test_an_implied_metric_is_not_a_second_pair(submit, run_document, xen):
    """Operations/s and MB/s of one test are the same finding."""

    def samples(factor, *metrics):
        stated = {"parameters": {"operation": "write"}}
        units = {"disk throughput": "MB/s", "IOps": "1/s"}
        return [
            {"metric": name, "value": 50.0 * factor, "unit": units[name], **stated}
            for name in metrics
        ]

    both = ("disk throughput", "IOps")
    submit(run_document(samples=samples(1, *both)))
    submit(run_document(samples=samples(0.5, *both), system=xen))

    (band,) = spectrum(study_cards(ANYONE))

    assert (band.component, band.pairs) == ("disk", 1)


def test_a_metric_that_is_not_implied_is_a_pair(submit, run_document, xen):
    sample = {"metric": "IOps", "parameters": {}, "unit": "1/s"}
    submit(run_document(samples=[{**sample, "value": 50.0}]))
    submit(run_document(samples=[{**sample, "value": 40.0}], system=xen))

    (band,) = spectrum(study_cards(ANYONE))

    assert (band.pairs, band.lowest) == (1, pytest.approx(0.8))


def test_nearly_equal_ratios_share_a_line(submit, run_document, xen):
    others = [
        run_document(value, system={**xen, "options": {"swap": str(value)}})
        for value in (13.08, 13.09, 26.0)
    ]
    submit(run_document(), *others)

    (band,) = spectrum(study_cards(ANYONE))

    assert band.pairs == 3
    assert len(band.lines) == 2


@pytest.mark.parametrize(
    ("status", "is_doubted"), [("open", True), ("dismissed", False)]
)
def test_the_flagged_end_of_a_band_is_marked(
    status, is_doubted, submit, run_document, xen
):
    other = {**xen, "options": {"swap": "on"}}
    submit(
        run_document(), run_document(0.1, system=xen), run_document(50, system=other)
    )
    slow = Cell.objects.order_by("mean").first()
    flag = Flag.objects.create(
        lab=slow.study.lab, study=slow.study, severity="impossible", status=status
    )
    flag.cells.add(slow)

    (band,) = spectrum(study_cards(ANYONE))

    assert band.is_lowest_flagged is is_doubted
    assert not band.is_highest_flagged


def test_a_flagged_baseline_flags_its_pairs(submit, run_document, xen):
    submit(run_document(), run_document(13.08, system=xen))
    native = Cell.objects.get(system__hypervisor="native")
    flag = Flag.objects.create(
        lab=native.study.lab, study=native.study, severity="impossible"
    )
    flag.cells.add(native)

    (band,) = spectrum(study_cards(ANYONE))

    assert (band.is_lowest_flagged, band.is_highest_flagged) == (True, True)


def test_private_studies_are_left_out_of_the_spectrum(submit, run_document, xen, lab):
    submit(run_document(), run_document(13.08, system=xen))
    Study.objects.update(visibility=Study.Visibility.PRIVATE)

    assert spectrum(study_cards(ANYONE)) == []
    assert len(spectrum(study_cards(Viewer(frozenset({lab.pk}))))) == 1


def test_cells_without_a_pair_are_left_out(submit, run_document, xen):
    share = {"metric": "CPU utilization (network)", "value": 20, "unit": "%"}
    submit(
        run_document(samples=[share]),
        run_document(system=xen, samples=[share]),
        run_document(system={**xen, "guest_os": "Windows"}),
    )

    assert spectrum(study_cards(ANYONE)) == []


def test_it_keeps_the_bands_with_the_most_pairs(submit, run_document, xen):
    twice = {**xen, "options": {"swap": "on"}}
    kvm = {"hypervisor": "KVM", "virtualization": "full"}
    submit(
        run_document(),
        run_document(13.08, system=xen),
        run_document(15.0, system=twice),
        run_document(40.0, system=kvm),
    )

    assert [band.hypervisor for band in spectrum(study_cards(ANYONE))] == [
        "KVM",
        "Xen 3.3",
    ]
    assert [band.hypervisor for band in spectrum(study_cards(ANYONE), limit=1)] == [
        "Xen 3.3"
    ]


def test_the_spectrum_needs_no_queries_of_its_own(
    submit, run_document, xen, django_assert_num_queries
):
    submit(run_document(), run_document(13.08, system=xen))
    cards = study_cards(ANYONE)

    with django_assert_num_queries(0):
        assert spectrum(cards)


def test_emulated_systems_are_left_out(submit, run_document, xen):
    layers = {"layers": "qemu-tcg > xen-pv"}
    submit(
        run_document(),
        run_document(13.08, system=xen),
        run_document(1.0, system={**xen, "options": layers}),
        run_document(1.0, system={**xen, "hypervisor": "QEMU TCG"}),
    )

    (band,) = spectrum(study_cards(ANYONE))

    assert (band.hypervisor, band.pairs) == ("Xen 3.3", 1)
