"""Systems of several studies compared, and their visibility."""

from datetime import timedelta
from math import exp

import pytest

from benchmarks.comparison.cross_study import (
    ALL_HOSTS,
    CrossStudyFilters,
    SystemInStudyKey,
    cross_study_table,
    find_system_in_study,
    rows_per_page,
)
from benchmarks.comparison.pair_comparison import compare_pair
from benchmarks.errors import NotFoundError
from benchmarks.evidence.stored_effects import store_effects
from benchmarks.models import Cell, Effect, EffectSummary, Flag, Host, Study
from benchmarks.studies import checking
from benchmarks.studies.saving import update_study
from benchmarks.viewer import ANYONE, Viewer

CALM = (100.0, 100.4, 99.7, 100.1, 99.9, 100.2)
SLOW = tuple(value * 0.8 for value in CALM)
SLOWER = tuple(value * 0.35 for value in CALM)
ESXI = {"hypervisor": "VMware ESXi", "hypervisor_version": "3.5"}


@pytest.fixture
def measured(submit, run_document, lab, host, study, xen):
    """Xen in one study and ESXi in another, on one machine or on two."""

    def measure(other_host="alpha", visibility="public"):
        other = Study.objects.create(
            lab=lab, slug="other", title="Other", visibility=visibility
        )
        if other_host != host.slug:
            Host.objects.create(lab=lab, slug=other_host, facts={"cores": 8})
        esxi = {**ESXI, "host": other_host}
        native = {"host": other_host}
        submit(
            *(run_document(value) for value in CALM),
            *(run_document(value, system=xen) for value in SLOW),
            *(run_document(value, study="other", system=native) for value in CALM),
            *(run_document(value, study="other", system=esxi) for value in SLOWER),
        )
        checking.check_due_studies(timedelta(0))
        return other

    return measure


def direct_of(found):
    (row,) = found.rows
    return [cell and cell.direct_ratio for cell in row.cells]


def test_systems_of_one_machine_have_direct_ratios(measured):
    measured()

    found = cross_study_table(ANYONE, CrossStudyFilters())

    assert found.is_one_host
    (ratio,) = filter(None, direct_of(found))
    assert max(ratio, 1 / ratio) == pytest.approx(0.8 / 0.35)


def test_systems_of_two_machines_have_no_direct_ratio_but_a_reason(measured):
    measured("beta")
    several = cross_study_table(ANYONE, CrossStudyFilters(host=ALL_HOSTS))
    (other, _xen) = sorted(several.columns, key=lambda column: column.system.host.slug)

    found = cross_study_table(
        ANYONE, CrossStudyFilters(host=ALL_HOSTS, reference=other.key)
    )

    assert direct_of(several) == direct_of(found) == [None, None]
    refused = next(pair for pair in found.pairs if pair)
    assert refused.is_incomparable
    assert "Different hosts" in refused.comparability.sentence
    efficiencies = [cell.row.result.ratio for cell in found.rows[0].cells]
    assert sorted(efficiencies) == pytest.approx([0.35, 0.8], rel=1e-3)


def test_a_pair_of_two_machines_is_indirect(measured):
    measured("beta")
    several = cross_study_table(ANYONE, CrossStudyFilters(host=ALL_HOSTS)).columns
    xen, esxi = sorted(
        several, key=lambda column: column.system.hypervisor, reverse=True
    )

    pair = compare_pair(xen, esxi)

    assert pair.is_incomparable
    (row,) = pair.rows
    assert row.direct is None
    assert row.indirect.ratio == pytest.approx(0.8 / 0.35, rel=1e-3)
    effects = {effect.system_id: effect for effect in Effect.objects.all()}
    both = effects[xen.system.pk], effects[esxi.system.pk]
    half = 1.959964 * sum(effect.variance for effect in both) ** 0.5
    ratio = exp(both[0].log_ratio - both[1].log_ratio)
    assert row.indirect.interval == pytest.approx(
        (ratio * exp(-half), ratio * exp(half))
    )


def test_a_pair_of_one_machine_is_assessed_across_studies(measured):
    measured()
    sides = {
        column.system.hypervisor: column
        for column in cross_study_table(ANYONE, CrossStudyFilters()).columns
    }

    pair = compare_pair(sides["Xen"], sides["VMware ESXi"])

    (row,) = pair.rows
    judged = row.direct.result.assessment
    assert row.direct.result.ratio == pytest.approx(0.8 / 0.35, rel=1e-3)
    assert judged.low < 0.8 / 0.35 < judged.high
    assert pair.tested_count == 2  # also the machine of its study


def test_private_studies_are_hidden_from_others(measured):
    private = measured(visibility="private")
    key = SystemInStudyKey(
        private.pk, private.cells.exclude(system__hypervisor="native")[0].system_id
    )

    def platforms(viewer):
        return {
            column.system.hypervisor
            for column in cross_study_table(viewer, CrossStudyFilters()).columns
        }

    own = Viewer(frozenset({private.lab_id}))
    assert platforms(ANYONE) == {"Xen"}
    assert platforms(own) == {"Xen", "VMware ESXi"}
    assert find_system_in_study(own, key).study == private
    with pytest.raises(NotFoundError):
        find_system_in_study(ANYONE, key)
    with pytest.raises(NotFoundError):
        cross_study_table(ANYONE, CrossStudyFilters(reference=key))


def test_newly_private_studies_disappear(measured):
    update_study(study=measured("beta"), visibility="private")

    assert [
        facet.host.slug
        for facet in cross_study_table(ANYONE, CrossStudyFilters()).facets.hosts
    ] == ["alpha"]
    with pytest.raises(NotFoundError):
        cross_study_table(ANYONE, CrossStudyFilters(host="alpha-lab/beta"))


@pytest.mark.parametrize(
    ("choice", "platforms"),
    [
        ({"hypervisors": frozenset({"Xen"})}, {"Xen"}),
        ({"guest": "Ubuntu Server 9.04 32-bit"}, {"Xen", "VMware ESXi"}),
        ({"guest": "Windows"}, set()),
        ({"work_class": "network-throughput-out"}, {"Xen", "VMware ESXi"}),
        ({"work_class": "disk-fsync"}, set()),
    ],
)
def test_filters_limit_the_columns(measured, choice, platforms):
    measured()

    found = cross_study_table(ANYONE, CrossStudyFilters(**choice))

    assert {column.system.hypervisor for column in found.columns} == platforms


def test_a_case_filter_limits_the_rows(measured):
    measured()
    ((case, _tool, _label),) = cross_study_table(
        ANYONE, CrossStudyFilters()
    ).facets.cases

    assert cross_study_table(ANYONE, CrossStudyFilters(case_id=case)).row_count == 1
    assert cross_study_table(ANYONE, CrossStudyFilters(case_id=case + 1)).row_count == 0


def test_without_cells_the_table_is_empty(db):
    found = cross_study_table(ANYONE, CrossStudyFilters())

    assert (found.columns, found.rows, found.summary) == ((), (), None)


@pytest.mark.parametrize(
    "text", ["", "1", "1-", "a-1", "1-2-3", "²-1", "1-" + "9" * 30]
)
def test_an_invalid_key_is_none(text):
    assert SystemInStudyKey.parse(text) is None


def test_a_key_round_trips():
    assert SystemInStudyKey.parse(str(SystemInStudyKey(12, 34))) == (12, 34)


@pytest.mark.parametrize(
    ("sides", "rows"), [(0, 50), (1, 50), (5, 50), (6, 42), (16, 16), (32, 8)]
)
def test_fewer_systems_allow_more_rows_per_page(sides, rows):
    assert rows_per_page(sides) == rows
    assert sides * rows <= 256


def test_a_cell_has_the_interval_of_its_study(measured):
    measured()

    (row,) = cross_study_table(ANYONE, CrossStudyFilters()).rows

    for cell in row.cells:
        effect = Effect.objects.get(cell=cell.row.id)
        low, high = cell.row.result.interval
        assert (low, high) == pytest.approx((exp(effect.log_low), exp(effect.log_high)))
        assert low < cell.row.result.ratio < high


def test_counts_match_the_effects(measured):
    measured()

    counted = {summary.system_id: summary for summary in EffectSummary.objects.all()}

    for effect in Effect.objects.all():
        kept = counted.pop(effect.system_id)
        assert (kept.study, kept.host, kept.work_class) == (
            effect.study,
            effect.host,
            effect.work_class,
        )
        assert (kept.cell_count, kept.ratio_count, kept.doubtful_count) == (1, 1, 0)
        assert (
            kept.min_log_ratio
            == kept.max_log_ratio
            == kept.log_ratio_sum
            == effect.log_ratio
        )
        assert kept.min_runs == kept.max_runs == effect.n
    assert not counted


def test_results_without_ratios_are_counted_only(submit, run_document, xen):
    submit(
        *(run_document(value) for value in CALM),
        *(run_document(value, system={**xen, "hypervisor": "TCG"}) for value in SLOW),
    )
    checking.check_due_studies(timedelta(0))

    (kept,) = EffectSummary.objects.all()

    assert Effect.objects.get().exclusion == Effect.Exclusion.EMULATION
    assert (kept.cell_count, kept.ratio_count, kept.log_ratio_sum) == (1, 0, 0.0)


@pytest.mark.parametrize("named", ["Xen", "native"])
def test_impossible_results_are_excluded_until_the_flag_is_dismissed(
    measured, study, named
):
    measured()

    def counted(severity, status):
        Flag.objects.all().delete()
        flag = Flag.objects.create(
            lab=study.lab,
            study=study,
            rule="unit-slip",
            severity=severity,
            message="-",
            fingerprint=severity,
            status=status,
        )
        flag.cells.set(Cell.objects.filter(study=study, system__hypervisor=named))
        store_effects(study)
        kept = EffectSummary.objects.get(system__hypervisor="Xen")
        return kept.ratio_count, kept.doubtful_count, kept.screened_count

    assert counted("impossible", "open") == (0, 0, 1)
    assert counted("impossible", "confirmed") == (0, 0, 1)
    assert counted("impossible", "dismissed") == (1, 0, 0)
    assert counted("implausible", "open") == (1, 1, 0)
    assert counted("check", "open") == (1, 0, 0)


def test_new_measurements_are_counted(measured, submit, run_document, xen):
    measured()
    before = EffectSummary.objects.get(system__hypervisor="Xen").log_ratio_sum

    submit(*(run_document(value * 0.798, system=xen) for value in CALM))
    checking.check_due_studies(timedelta(0))

    assert EffectSummary.objects.get(system__hypervisor="Xen").log_ratio_sum < before
