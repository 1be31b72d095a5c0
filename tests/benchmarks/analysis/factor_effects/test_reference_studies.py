"""Effects on relative performance in the two studies of LMU Munich."""

import math

import pytest

from benchmarks.analysis.factor_effects.effects import (
    estimate_factor_effects,
    interaction_means,
    level_means,
)
from benchmarks.analysis.factor_effects.factors_and_responses import (
    Observation,
    find_factors,
)
from benchmarks.reference.data_files import read_rows
from tests.benchmarks.analysis.factor_effects.published_designs import (
    name,
    standing_out,
)

NAMES = ("virtualization", "guest_os", "guest_bits", "hw_virt", "guest_tools")
NETWORK = ("Iometer", "network throughput", "")
SEQUENTIAL = ("Iometer", "disk throughput", "sequential")


def observations(study, tool, metric, access="", operation="", level=""):
    """Return the relative performance of a case with one VM; times become rates."""
    wanted = (tool, metric, access, operation, level, "single", "1")
    rows = [row for row in read_rows(study) if described(row) == wanted]
    native = {
        guest(row): float(row.value) for row in rows if row.hypervisor == "native"
    }
    sign = -1 if metric == "time" else 1
    return [
        Observation(
            {each: getattr(row, each) for each in NAMES},
            sign * math.log(float(row.value) / native[guest(row)]),
            baseline_id=guest(row),
        )
        for row in rows
        if row.hypervisor != "native"
    ]


def described(row):
    level = row.parameters.get("level", "")
    return (
        *(row.tool, row.metric, row.access, row.operation, level),
        *(row.scenario, row.vm),
    )


def guest(row):
    return (row.guest_os, row.guest_bits)


def factors(effects):
    return {name(effect): round(effect.ratio, 3) for effect in effects.effects}


def per_bits(observed):
    """Return the effect of the tools on 32-bit and 64-bit guests."""
    by_name = {
        each.names[0]: each for each in find_factors([o.levels for o in observed])
    }
    table = level_means(by_name["guest_tools"], by_name["guest_bits"], observed)
    return [round(factor, 2) for factor in table.ratios]


def test_esxi_was_sixteen_systems_in_all_combinations():
    effects = estimate_factor_effects(observations("lmu-2010-esxi", "LINPACK", "time"))

    assert [each.names for each in effects.factors] == [
        (each,) for each in NAMES if each != "virtualization"
    ]
    assert [each.count for each in effects.combinations] == [1] * 16
    assert effects.error_source == "contrasts"


def test_nothing_moved_the_cpu_under_esxi():
    effects = estimate_factor_effects(observations("lmu-2010-esxi", "LINPACK", "time"))

    assert standing_out(effects) == set()
    assert effects.lenth.me < 0.005
    assert all(0.99 < each.ratio < 1.01 for each in effects.effects)


def test_tools_bits_and_os_moved_the_network_under_esxi_and_amd_v_did_not():
    for operation in ("write", "read"):
        effects = estimate_factor_effects(
            observations("lmu-2010-esxi", *NETWORK, operation=operation)
        )

        moved = standing_out(effects)
        assert moved == {
            "guest_bits",
            "guest_tools",
            "guest_os",
            "guest_os x guest_bits",
            "guest_os x guest_tools",
            "guest_bits x guest_tools",
        }
        assert factors(effects)["hw_virt"] == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    ("operation", "tools", "by_bits"),
    [("write", 1.244, [1.55, 1.0]), ("read", 1.508, [2.29, 0.99])],
)
def test_vmware_tools_helped_32_bit_networks_only(operation, tools, by_bits):
    observed = observations("lmu-2010-esxi", *NETWORK, operation=operation)

    assert factors(estimate_factor_effects(observed))["guest_tools"] == tools
    assert per_bits(observed) == by_bits


def test_they_helped_no_guest_but_32_bit_ubuntu():
    """All three factors interact: the Tools speed up one guest only."""
    observed = observations("lmu-2010-esxi", *NETWORK, operation="write")
    effects = estimate_factor_effects(observed)

    tools = next(
        each
        for each in interaction_means(effects, observed)
        if each.row_factor.names == ("guest_tools",)
    )
    guests = dict(zip(tools.column_factor.levels, tools.ratios, strict=True))
    assert {guest: round(factor, 2) for guest, factor in guests.items()} == {
        "Ubuntu Server 9.04 · 32": 2.58,
        "Ubuntu Server 9.04 · 64": 1.0,
        "Windows Server 2003 SP1 RC2 · 32": 0.94,
        "Windows Server 2003 SP1 RC2 · 64": 1.0,
    }
    assert [
        [each.names[0] for each in term] for term in effects.higher_order_terms
    ] == [["guest_os", "guest_bits", "guest_tools"]]


def test_amd_v_cost_esxi_a_twentieth_of_sequential_reads():
    effects = estimate_factor_effects(
        observations("lmu-2010-esxi", *SEQUENTIAL, operation="read")
    )

    assert {"hw_virt", "guest_tools", "guest_os"} <= standing_out(effects)
    assert factors(effects)["hw_virt"] == 0.95
    assert factors(effects)["guest_tools"] == 0.951
    assert factors(effects)["guest_os"] == 1.286


def test_native_runs_dominate_the_variance_of_bits_and_os():
    effects = estimate_factor_effects(
        observations("lmu-2010-esxi", *NETWORK, operation="read")
    )

    leaning = {name(each) for each in effects.effects if each.baseline_share > 0.5}
    assert leaning == {"guest_os", "guest_bits", "guest_os x guest_bits"}


def test_xen_was_ten_systems_whose_interactions_stay_partly_unknown():
    effects = estimate_factor_effects(observations("lmu-2010-xen", "LINPACK", "time"))

    aliased = {frozenset(f.names[0] for f in each.term) for each in effects.aliases}
    assert (effects.error_source, effects.cell_count) == ("residual", 10)
    assert aliased == {
        frozenset({"virtualization", "guest_os"}),
        frozenset({"virtualization", "hw_virt"}),
        frozenset({"guest_os", "hw_virt"}),
    }
    assert standing_out(effects, "clear", "possible") == set()


@pytest.mark.parametrize(
    ("operation", "paravirtual", "drivers"),
    [("write", 3.875, 0.383), ("read", 3.744, 2.56)],
)
def test_paravirtual_xen_moved_the_network_and_its_drivers_helped_reads_only(
    operation, paravirtual, drivers
):
    effects = estimate_factor_effects(
        observations("lmu-2010-xen", *NETWORK, operation=operation)
    )

    assert standing_out(effects, "possible") == {"virtualization", "guest_tools"}
    assert factors(effects)["virtualization"] == paravirtual
    assert factors(effects)["guest_tools"] == drivers
    assert factors(effects)["hw_virt"] == pytest.approx(1, abs=0.02)
