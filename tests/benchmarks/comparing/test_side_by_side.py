"""Systems of several studies side by side, and what another's viewer never sees."""

from datetime import timedelta
from math import exp

import pytest

from benchmarks.comparing.side_by_side import (
    ALL_HOSTS,
    Choice,
    SideKey,
    find_side,
    rows_at_once,
    side_by_side,
)
from benchmarks.comparing.side_pairs import side_pair
from benchmarks.errors import NotFoundError
from benchmarks.evidence.effects import store_effects
from benchmarks.models import Cell, Effect, EffectSummary, Flag, Host, Study
from benchmarks.studies import checking
from benchmarks.studies.saving import update_study
from benchmarks.viewer import ANYONE, Viewer

CALM = (100.0, 100.4, 99.7, 100.1, 99.9, 100.2)
SLOW = tuple(value * 0.8 for value in CALM)
SLOWER = tuple(value * 0.6 for value in CALM)
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
    return [cell and cell.direct for cell in row.cells]


def test_systems_of_one_machine_have_direct_ratios(measured):
    measured()

    found = side_by_side(ANYONE, Choice())

    assert found.is_one_host
    (ratio,) = filter(None, direct_of(found))
    assert max(ratio, 1 / ratio) == pytest.approx(0.8 / 0.6)


def test_systems_of_two_machines_have_none_and_the_reason(measured):
    measured("beta")
    several = side_by_side(ANYONE, Choice(host=ALL_HOSTS))
    (other, _xen) = sorted(several.sides, key=lambda it: it.system.host.slug)

    found = side_by_side(ANYONE, Choice(host=ALL_HOSTS, against=other.key))

    assert direct_of(several) == direct_of(found) == [None, None]
    refused = next(pair for pair in found.pairs if pair)
    assert refused.is_refused
    assert "Different hosts" in refused.compared.sentence
    efficiencies = [cell.row.shown.ratio for cell in found.rows[0].cells]
    assert sorted(efficiencies) == pytest.approx([0.6, 0.8], rel=1e-3)


def test_a_pair_of_two_machines_is_indirect(measured):
    measured("beta")
    several = side_by_side(ANYONE, Choice(host=ALL_HOSTS)).sides
    xen, esxi = sorted(several, key=lambda it: it.system.hypervisor, reverse=True)

    pair = side_pair(xen, esxi)

    assert pair.is_refused
    (row,) = pair.rows
    assert row.direct is None
    assert row.indirect.ratio == pytest.approx(0.8 / 0.6, rel=1e-3)
    effects = {it.system_id: it for it in Effect.objects.all()}
    both = effects[xen.system.pk], effects[esxi.system.pk]
    half = 1.959964 * sum(it.variance for it in both) ** 0.5
    ratio = exp(both[0].log_ratio - both[1].log_ratio)
    assert row.indirect.interval == pytest.approx(
        (ratio * exp(-half), ratio * exp(half))
    )


def test_a_pair_of_one_machine_is_judged_across_its_studies(measured):
    measured()
    sides = {it.system.hypervisor: it for it in side_by_side(ANYONE, Choice()).sides}

    pair = side_pair(sides["Xen"], sides["VMware ESXi"])

    (row,) = pair.rows
    judged = row.direct.shown.judgement
    assert row.direct.shown.ratio == pytest.approx(0.8 / 0.6, rel=1e-3)
    assert judged.low < 0.8 / 0.6 < judged.high
    assert pair.tested == 2  # the machine of its study, too


def test_what_is_private_is_nobody_elses(measured):
    private = measured(visibility="private")
    key = SideKey(
        private.pk, private.cells.exclude(system__hypervisor="native")[0].system_id
    )

    def platforms(viewer):
        return {it.system.hypervisor for it in side_by_side(viewer, Choice()).sides}

    own = Viewer(frozenset({private.lab_id}))
    assert platforms(ANYONE) == {"Xen"}
    assert platforms(own) == {"Xen", "VMware ESXi"}
    assert find_side(own, key).study == private
    with pytest.raises(NotFoundError):
        find_side(ANYONE, key)
    with pytest.raises(NotFoundError):
        side_by_side(ANYONE, Choice(against=key))


def test_what_is_hidden_again_is_gone(measured):
    update_study(study=measured("beta"), visibility="private")

    assert [it.host.slug for it in side_by_side(ANYONE, Choice()).facets.hosts] == [
        "alpha"
    ]
    with pytest.raises(NotFoundError):
        side_by_side(ANYONE, Choice(host="alpha-lab/beta"))


@pytest.mark.parametrize(
    ("choice", "platforms"),
    [
        ({"hypervisors": frozenset({"Xen"})}, {"Xen"}),
        ({"guest": "Ubuntu Server 9.04 32-bit"}, {"Xen", "VMware ESXi"}),
        ({"guest": "Windows"}, set()),
        ({"work": "network-throughput-out"}, {"Xen", "VMware ESXi"}),
        ({"work": "disk-fsync"}, set()),
    ],
)
def test_a_choice_narrows_the_columns(measured, choice, platforms):
    measured()

    found = side_by_side(ANYONE, Choice(**choice))

    assert {it.system.hypervisor for it in found.sides} == platforms


def test_a_benchmark_narrows_the_rows(measured):
    measured()
    ((case, _tool, _label),) = side_by_side(ANYONE, Choice()).facets.cases

    assert side_by_side(ANYONE, Choice(case=case)).row_count == 1
    assert side_by_side(ANYONE, Choice(case=case + 1)).row_count == 0


def test_where_nothing_was_measured_there_is_nothing(db):
    found = side_by_side(ANYONE, Choice())

    assert (found.sides, found.rows, found.answer) == ((), (), None)


@pytest.mark.parametrize(
    "text", ["", "1", "1-", "a-1", "1-2-3", "²-1", "1-" + "9" * 30]
)
def test_nonsense_is_no_key(text):
    assert SideKey.read(text) is None


def test_a_key_reads_what_it_writes():
    assert SideKey.read(str(SideKey(12, 34))) == (12, 34)


@pytest.mark.parametrize(
    ("sides", "rows"), [(0, 50), (1, 50), (5, 50), (6, 42), (16, 16), (32, 8)]
)
def test_of_fewer_systems_more_benchmarks_stand_at_once(sides, rows):
    assert rows_at_once(sides) == rows
    assert sides * rows <= 256


def test_a_cell_has_the_interval_that_its_study_says(measured):
    measured()

    (row,) = side_by_side(ANYONE, Choice()).rows

    for cell in row.cells:
        effect = Effect.objects.get(cell=cell.row.id)
        low, high = cell.row.shown.interval
        assert (low, high) == pytest.approx((exp(effect.log_low), exp(effect.log_high)))
        assert low < cell.row.shown.ratio < high


def test_what_is_counted_is_what_the_effects_say(measured):
    measured()

    counted = {it.system_id: it for it in EffectSummary.objects.all()}

    for effect in Effect.objects.all():
        kept = counted.pop(effect.system_id)
        assert (kept.study, kept.host, kept.work) == (
            effect.study,
            effect.host,
            effect.work,
        )
        assert (kept.cells, kept.ratios, kept.flagged) == (1, 1, 0)
        assert kept.low == kept.high == kept.total == effect.log_ratio
        assert kept.fewest == kept.most == effect.n
    assert not counted


def test_what_is_no_ratio_of_a_machine_is_counted_but_tells_nothing(
    submit, run_document, xen
):
    submit(
        *(run_document(value) for value in CALM),
        *(run_document(value, system={**xen, "hypervisor": "TCG"}) for value in SLOW),
    )
    checking.check_due_studies(timedelta(0))

    (kept,) = EffectSummary.objects.all()

    assert Effect.objects.get().obstacle == Effect.Obstacle.EMULATION
    assert (kept.cells, kept.ratios, kept.total) == (1, 0, 0.0)


@pytest.mark.parametrize("named", ["Xen", "native"])
def test_what_cannot_be_is_in_no_range_until_somebody_dismisses_that(
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
            sentence="-",
            fingerprint=severity,
            status=status,
        )
        flag.cells.set(Cell.objects.filter(study=study, system__hypervisor=named))
        store_effects(study)
        kept = EffectSummary.objects.get(system__hypervisor="Xen")
        return kept.ratios, kept.flagged, kept.impossible

    assert counted("impossible", "open") == (0, 0, 1)
    assert counted("impossible", "confirmed") == (0, 0, 1)
    assert counted("impossible", "dismissed") == (1, 0, 0)
    assert counted("implausible", "open") == (1, 1, 0)
    assert counted("check", "open") == (1, 0, 0)


def test_what_is_measured_again_is_counted_again(measured, submit, run_document, xen):
    measured()
    before = EffectSummary.objects.get(system__hypervisor="Xen").total

    submit(*(run_document(value * 0.798, system=xen) for value in CALM))
    checking.check_due_studies(timedelta(0))

    assert EffectSummary.objects.get(system__hypervisor="Xen").total < before
