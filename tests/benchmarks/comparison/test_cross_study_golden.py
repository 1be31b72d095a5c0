"""Xen against ESXi on one host, recomputed from the printed tables of both studies."""

import csv
from datetime import timedelta
from pathlib import Path

import pytest

import benchmarks.reference
from benchmarks.comparison.cross_study import CrossStudyFilters, cross_study_table
from benchmarks.comparison.pair_comparison import compare_pair
from benchmarks.models import Agent, Lab
from benchmarks.studies import checking
from benchmarks.viewer import ANYONE
from tests.module_data import standing
from tests.reference_studies import load_study

DATA = Path(benchmarks.reference.__file__).parent / "data"
LMU = "alpha-lab/lmu-athlon64-x2-4800"
STUDIES = ("lmu-2010-xen", "lmu-2010-esxi")


@pytest.fixture(scope="module")
def lmu(django_db_setup, django_db_blocker):
    """Both studies of the LMU host, Xen and ESXi."""
    with standing(django_db_blocker):
        lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
        agent = Agent.objects.create(lab=lab, name="alice")
        for slug in STUDIES:
            load_study(agent, slug)
        checking.check_due_studies(timedelta(0))
        yield cross_study_table(ANYONE, CrossStudyFilters())


def printed(study):
    """Return a study's printed values of single VMs by system and case."""
    found = {}
    with (DATA / f"{study}.csv").open() as file:
        for row in csv.DictReader(file):
            # Paths between guests, co-runs and loads are not comparable.
            if row["scenario"] != "single" or "load=" in row["params"]:
                continue
            parameters = dict(
                part.split("=", 1) for part in row["params"].split(";") if part
            )
            case = (
                row["metric"],
                row["operation"],
                row["access"],
                parameters.get("level", ""),
                parameters.get("n", ""),
            )
            system = tuple(
                row[name]
                for name in (
                    *("hypervisor", "virtualization", "guest_os", "guest_bits"),
                    *("hw_virt", "guest_tools"),
                )
            )
            found[system, case] = float(row["value"])
    return found


def named(side):
    system = side.system
    options = system.options
    return (
        system.hypervisor,
        system.virtualization,
        system.guest_os,
        str(system.guest_bits or ""),
        options.get("hw_virt", ""),
        options.get("guest_tools", ""),
    )


def case_of(case):
    told = case.parameters
    return (
        case.metric,
        told.get("operation", ""),
        told.get("access", ""),
        told.get("level", ""),
        told.get("n", ""),
    )


def test_it_opens_with_the_machine_that_two_studies_measured(db, lmu):
    assert lmu.filters.host == LMU
    assert {side.platform for side in lmu.columns} == {"Xen 3.3", "VMware ESXi 3.5"}
    assert {side.year for side in lmu.columns} == {"2010"}
    assert lmu.shared_count == 16


def test_the_summary_matches_the_printed_tables(db, lmu):
    """16 and 10 configurations, each relative to the native run of its own study."""
    kept = {}
    for slug in STUDIES:
        values = printed(slug)
        for (system, case), value in values.items():
            if system[0] == "native" or case[:3] != (
                "disk throughput",
                "write",
                "random",
            ):
                continue
            native = ("native", "", *system[2:4], "", "")
            kept.setdefault(system[0], []).append(value / values[native, case])

    esxi, xen = lmu.summaries["disk-random-write"].ranges
    for standing_of in (esxi, xen):
        ratios = kept[standing_of.hypervisor]
        assert standing_of.systems + standing_of.screened == len(ratios)
        ends = standing_of.with_screened or (standing_of.low, standing_of.high)
        assert ends == pytest.approx((min(ratios), max(ratios)))
    assert (esxi.systems, xen.systems) == (16, 8)
    # A flag says that two readings of Xen are impossible.
    assert (esxi.screened, xen.screened) == (0, 2)
    assert (round(100 * esxi.low), round(100 * esxi.high)) == (67, 89)
    assert (round(100 * xen.low), round(100 * xen.high)) == (54, 70)
    assert lmu.summary.work_class == "disk-random-write"
    assert lmu.summary.not_measured == ("KVM", "Hyper-V")
    assert lmu.summary.are_single_runs


def test_shared_benchmarks_match_the_printed_tables(db, lmu):
    """Values, ratios to native and direct ratios, recomputed from the CSVs."""
    values = {}
    for slug in STUDIES:
        values |= {(slug, *key): value for key, value in printed(slug).items()}
    seen, ratios, directs = set(), 0, 0
    pages = [
        cross_study_table(ANYONE, CrossStudyFilters(page=page + 1))
        for page in range(lmu.page_count)
    ]
    rows = [row for page in pages for row in page.rows]
    assert len(rows) == lmu.row_count
    for row in rows[: lmu.shared_count]:
        case, faster = case_of(row.case), row.better == "higher"
        for side, pair, cell in zip(lmu.columns, lmu.pairs, row.cells, strict=True):
            if cell is None:
                continue
            study, system = side.study.slug, named(side)
            value = values[study, system, case]
            assert cell.row.result.value == pytest.approx(value)
            seen.add((case, side.platform))
            native = values.get((study, ("native", "", *system[2:4], "", ""), case))
            if cell.row.result.ratio is not None:
                ratio = value / native if faster else native / value
                assert cell.row.result.ratio == pytest.approx(ratio)
                ratios += 1
            if cell.direct_ratio is not None:
                other = values[pair.reference.study.slug, named(pair.reference), case]
                assert cell.direct_ratio == pytest.approx(
                    value / other if faster else other / value
                )
                directs += 1

    assert len({case for case, _platform in seen}) == 16
    assert len(seen) == 32
    assert ratios > 300
    assert directs > 200


def test_two_systems_of_two_studies_have_a_direct_ratio(db, lmu):
    sides = {named(side): side for side in lmu.columns}
    guest = ("full", "Ubuntu Server 9.04", "32", "on")
    xen = sides[("Xen", *guest, "")]
    esxi = sides[("VMware ESXi", *guest, "absent")]

    pair = compare_pair(esxi, xen)

    assert (pair.comparability.rating, pair.is_incomparable) == ("limited", False)
    one, other = printed("lmu-2010-esxi"), printed("lmu-2010-xen")
    rows = {
        case_of(row.first.case): row for row in pair.rows if row.first and row.second
    }
    assert len(rows) == pair.shared_count == 13
    for case, row in rows.items():
        ratio = one[named(esxi), case] / other[named(xen), case]
        better = row.direct.result.better
        assert row.direct.result.ratio == pytest.approx(
            ratio if better == "higher" else 1 / ratio
        )
        assert row.direct.result.assessment.verdict == "not_assessed"


def test_differing_native_runs_are_reported(db, lmu):
    """One reading was printed a thousand times too high."""
    esxi = next(
        column
        for column in lmu.columns
        if named(column)[:4] == ESXI_32 and column.result_count > 5
    )
    xen = next(column for column in lmu.columns if named(column)[:4] == XEN_32)

    assert compare_pair(esxi, xen).differing_native_count >= 1


ESXI_32 = ("VMware ESXi", "full", "Ubuntu Server 9.04", "32")
XEN_32 = ("Xen", "full", "Ubuntu Server 9.04", "32")
