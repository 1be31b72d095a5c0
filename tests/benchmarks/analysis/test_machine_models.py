"""Machines of one model, compared with the figures of the Spare Cores data set."""

import csv
import json
import math
from collections import defaultdict
from dataclasses import replace
from functools import cache
from statistics import fmean, stdev

import pytest

from benchmarks.analysis.machine_comparability import (
    Level,
    Load,
    compare_specimens,
    load_of,
    normalized_cpu,
    specimen_from_facts,
)
from benchmarks.analysis.machine_models import (
    Basis,
    Reading,
    Weight,
    flagged_models,
    model_effect,
    pool_models,
)
from benchmarks.analysis.meta_analysis import UNDECIDED
from benchmarks.reference.data_files import DATA

FOLDER = DATA / "sparecores-2026-cloud"
HELD_BACK = "aws-neoverse-v2-192"
SCATTERED = "aws-xeon-6975p-c-192"

# Name in expected.json: tool, operation and parameters. ALL is the number of CPUs.
CASES = {
    **{
        f"stress-ng div16, {name}, {seconds} s": (
            "stress-ng",
            "",
            {"seconds": seconds, "workers": workers},
        )
        for seconds, name, workers in (
            ("10", "all CPUs", "ALL"),
            ("10", "half of the CPUs", "HALF"),
            ("10", "one CPU", "1"),
            ("20", "all CPUs", "ALL"),
            ("20", "one CPU", "1"),
        )
    },
    **{
        f"bw_mem {operation}, {size}": ("lmbench bw_mem", operation, {"size_MB": size})
        for operation in ("read", "write", "read-write")
        for size in ("512.00", "0.262144")
    },
    **{
        f"openssl {algorithm}": ("openssl speed", "", {"algorithm": algorithm})
        for algorithm in ("sha256", "AES-256-CBC", "blake2b512")
    },
    **{
        f"{name} {level}, one thread": (
            "compression",
            "compress",
            {"algorithm": name, "level": level},
        )
        for name, level in (("gzip", "5"), ("bzip2", "9"), ("zstd", "7"))
    },
}


@cache
def expected():
    return json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


@cache
def machines():
    content = json.loads((FOLDER / "studies.json").read_text(encoding="utf-8"))
    return content["machines"]


@cache
def rows():
    path = FOLDER / "sparecores-2026-cloud.csv"
    with path.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    for row in found:
        row["parameters"] = dict(
            part.split("=", 1) for part in row["params"].split(";")
        )
    return [row for row in found if row["parameters"].get("repetition", "1") == "1"]


def family(specimen):
    name, dot, _ = specimen.partition(".")
    return name if dot else specimen.removesuffix("-metal")


def specimen(row):
    facts = machines()[row["machine"]]
    name = row["parameters"]["specimen"]
    stated = {
        **{key: value for key, value in facts.items() if key != "specimens"},
        "product_family": family(name),
        "machine_model": row["machine"],
        "memory_modules": facts.get("memory_of_natives", {}).get(name, ""),
    }
    return specimen_from_facts(name, "", stated)


def load(row):
    component = "memory" if "bw_mem" in row["tool"] else "CPU"
    threads = machines()[row["machine"]]["threads"]
    return load_of(component, row["parameters"], threads=threads)


def case_rows(name):
    tool, operation, wanted = CASES[name]
    for row in rows():
        cpus = machines()[row["machine"]]["threads"]
        numbers = {"ALL": str(cpus), "HALF": str(cpus // 2)}
        if (
            row["tool"] == tool
            and row["operation"] == operation
            and all(
                row["parameters"].get(key) == numbers.get(value, value)
                for key, value in wanted.items()
            )
        ):
            yield row


def reading(row):
    name = row["parameters"]["specimen"]
    return Reading(name, math.log(float(row["value"])), family(name))


def is_same_model(native, guest):
    versions = tuple(row["parameters"].get("version", "") for row in (native, guest))
    level = compare_specimens(
        specimen(native), specimen(guest), load(native), versions=versions
    ).level
    return level == Level.SAME_MODEL


def kvm_pairs(name):
    """Return the rows of each pair of a native and a guest machine, by model."""
    sides = defaultdict(lambda: ({}, {}))
    for row in case_rows(name):
        if row["hypervisor"] in ("native", "KVM"):
            side = int(row["hypervisor"] == "KVM")
            key = family(row["parameters"]["specimen"])
            sides[row["machine"]][side][key] = row
    pairs = {
        model: [
            (natives[key], guests[key])
            for key in natives
            if key in guests and is_same_model(natives[key], guests[key])
        ]
        for model, (natives, guests) in sides.items()
    }
    return {model: found for model, found in pairs.items() if found}


@cache
def effects(name):
    return {
        model: model_effect(
            model,
            [reading(native) for native, _ in pairs],
            [reading(guest) for _, guest in pairs],
        )
        for model, pairs in kvm_pairs(name).items()
    }


def printed(log_ratio):
    return round(math.exp(log_ratio), 4)


def figures(log_ratios):
    pool = pool_models(log_ratios)
    values = [value for logs in log_ratios.values() for value in logs]
    return {
        "k_pairs": pool.pair_count,
        "gm_pairs": printed(fmean(values)),
        "sd_ln_pairs": round(stdev(values), 4),
        "min": printed(min(values)),
        "max": printed(max(values)),
        "m_models": pool.model_count,
        "gm_models": printed(pool.log_ratio),
        "ci95": [printed(end) for end in pool.interval],
        "pi95_new_model": [printed(end) for end in pool.predicted],
        "sd_ln_between_models": round(pool.deviation_between, 4),
        "sd_ln_within_models": round(pool.deviation_within, 4),
    }


@pytest.mark.parametrize("name", CASES)
def test_pools_of_kvm_match_the_printed_digits(name):
    log_ratios = {model: effect.log_ratios for model, effect in effects(name).items()}
    wanted = expected()["kvm"][name]

    assert figures(log_ratios) == wanted["all"]
    del log_ratios[HELD_BACK]
    assert figures(log_ratios) == wanted[f"without {HELD_BACK}"]


@pytest.mark.parametrize("name", CASES)
def test_each_model_matches_the_printed_digits(name):
    assert {
        model: {
            "k": len(effect.log_ratios),
            "gm": printed(effect.log_ratio),
            "sd_ln": round(stdev(effect.log_ratios), 4)
            if len(effect.log_ratios) > 1
            else None,
        }
        for model, effect in effects(name).items()
    } == expected()["kvm"][name]["by_model"]


@pytest.mark.parametrize(
    ("hypervisor", "name"),
    [
        (side, name)
        for side, key in (("Xen", "xen"), ("Hyper-V", "hyperv"))
        for name in expected()[key]
    ],
)
def test_guests_lend_their_spread_to_a_single_native_machine(hypervisor, name):
    key, native_name = {
        "Xen": ("xen", "i3.metal"),
        "Hyper-V": ("hyperv", "vbm-8c-132gb"),
    }[hypervisor]
    found = list(case_rows(name))
    (native,) = (row for row in found if row["parameters"]["specimen"] == native_name)
    guests = [row for row in found if row["hypervisor"] == hypervisor]
    # They are of other families than the native machine, as far as families go.
    readings = [replace(reading(row), product_family="") for row in guests]

    effect = model_effect("", [replace(reading(native), product_family="")], readings)

    wanted = expected()[key][name]
    assert effect.guest_count == wanted["k_guests"]
    assert effect.basis == Basis.BORROWED
    assert effect.weight == Weight.INDICATIVE
    assert "as the guests do" in effect.assumption
    assert printed(effect.log_ratio) == wanted["gm"]
    assert [printed(end) for end in effect.interval] == wanted["ci95_borrowed"]
    levels = {
        compare_specimens(specimen(native), specimen(row), load(row)).level
        for row in guests
    }
    assert levels == {Level.SAME_CPU}


def flags(name):
    pairs = kvm_pairs(name)
    native, guest = (
        {
            model: [reading(pair[side]).log_value for pair in found]
            for model, found in pairs.items()
        }
        for side in (0, 1)
    )
    ratios = {model: effect.log_ratios for model, effect in effects(name).items()}
    kind = load(next(iter(pairs.values()))[0][0])
    return {flag.model for flag in flagged_models(native, guest, ratios, kind)}


@pytest.mark.parametrize(
    ("name", "models"),
    [
        ("stress-ng div16, all CPUs, 10 s", {HELD_BACK}),
        ("bw_mem read, 0.262144", {HELD_BACK}),
        ("bw_mem write, 512.00", {HELD_BACK, SCATTERED}),
        # The scheduler decides which hyperthreads half of the CPUs are.
        ("stress-ng div16, half of the CPUs, 10 s", set()),
        ("stress-ng div16, one CPU, 10 s", set()),
        ("openssl AES-256-CBC", set()),
    ],
)
def test_models_whose_native_machines_were_held_back_are_flagged(name, models):
    assert flags(name) == models


def test_memory_modules_that_both_sides_have_do_not_flag_a_model():
    scattered = {"a": [0.0, 0.3], "b": [0.0, 0.001], "c": [0.0, 0.001]}
    ratios = {model: [0.0, 0.0] for model in scattered}

    assert not flagged_models(scattered, scattered, ratios, Load.MEMORY)
    steady = {**scattered, "a": [0.0, 0.001]}
    (flag,) = flagged_models(scattered, steady, ratios, Load.MEMORY)
    assert flag.model == "a"


GRAVITON = {
    "cpu": "Neoverse-N1",
    "bios_model_name": "AWS Graviton2",
    "provider": "AWS",
    "threads": 64,
    "sockets": 1,
    "product_family": "c6g",
}
ALTRA = {**GRAVITON, "bios_model_name": "Ampere(R) Altra(R)", "provider": "Azure"}
BROADWELL = {
    "cpu": "Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz",
    "provider": "AWS",
    "threads": 72,
    "product_family": "i3",
}
CASCADE_LAKE = {
    "cpu": "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz",
    "provider": "AWS",
    "threads": 96,
    "product_family": "m5",
}
SKYLAKE = {**CASCADE_LAKE, "cpu": "Intel(R) Xeon(R) Platinum 8175M CPU @ 2.50GHz"}
SAPPHIRE = {"cpu": "Intel(R) Xeon(R) Platinum 8481C CPU", "provider": "GCP"}
GENOA = {"cpu": "AMD EPYC 9354 32-Core Processor", "threads": 128}
GRAVITON_3 = {"cpu": "Neoverse-V1", "provider": "AWS", "threads": 64}


def compared(native, guest, kind, **options):
    sides = [
        specimen_from_facts(name, "lab", facts)
        for name, facts in (("native", native), ("guest", guest))
    ]
    return compare_specimens(*sides, kind, **options)


@pytest.mark.parametrize(
    ("trap", "native", "guest", "one_thread", "all_cpus"),
    [
        ("T1", GRAVITON, ALTRA, Level.REFUSED, Level.REFUSED),
        (
            *("T2", BROADWELL, {**BROADWELL, "threads": 64}),
            *(Level.SAME_CPU, Level.REFUSED),
        ),
        (
            *("T4", {**SAPPHIRE, "threads": 192}, {**SAPPHIRE, "threads": 176}),
            *(Level.SAME_CPU, Level.REFUSED),
        ),
        (
            *("T5", {**GENOA, "provider": "Vultr"}, {**GENOA, "provider": "OVH"}),
            *(Level.SAME_CPU, Level.REFUSED),
        ),
        ("T6", SKYLAKE, CASCADE_LAKE, Level.REFUSED, Level.REFUSED),
    ],
)
def test_other_machines_are_refused_or_limited_to_one_thread(
    trap, native, guest, one_thread, all_cpus
):
    assert compared(native, guest, Load.ONE_THREAD).level == one_thread
    assert compared(native, guest, Load.ALL_CPUS).level == all_cpus
    assert compared(native, guest, Load.MEMORY).level == Level.REFUSED


def test_every_trap_of_the_data_set_has_a_test():
    traps = json.loads((FOLDER / "traps.json").read_text(encoding="utf-8"))

    assert {trap["id"] for trap in traps} == {f"T{n}" for n in range(1, 12)}


def test_the_bios_names_silicon_with_equal_names():
    reason = compared(GRAVITON, ALTRA, Load.ONE_THREAD).reason

    assert "aws graviton2" in reason
    assert "ampere altra" in reason


@pytest.mark.parametrize("bios", ["", "pc-i440fx-7.2 CPU @ 2.0GHz", "Not Specified"])
def test_a_bios_that_does_not_name_the_cpu_is_not_another_cpu(bios):
    guest = {**GRAVITON, "bios_model_name": bios}

    assert compared(GRAVITON, guest, Load.ALL_CPUS).level == Level.SAME_MODEL


def test_other_provider_without_bios_name_gives_only_one_thread():
    guest = {**ALTRA, "bios_model_name": ""}

    assert compared(GRAVITON, guest, Load.ONE_THREAD).level == Level.SAME_CPU
    assert compared(GRAVITON, guest, Load.ALL_CPUS).level == Level.REFUSED


def test_client_and_server_on_one_machine_are_refused():
    kind = load_of("network", {"client": "same machine"}, threads=96)
    comparison = compared(CASCADE_LAKE, CASCADE_LAKE, kind)

    assert comparison.level == Level.REFUSED
    assert "Client and server" in comparison.reason


def test_devices_of_clouds_are_refused():
    assert compared(GRAVITON, GRAVITON, load_of("disk", {}, threads=64)).level == 4


@pytest.mark.parametrize("ratio", [1.7586, 1.2793])
def test_a_guest_faster_than_its_stated_cpu_is_refused(ratio):
    guest = {**BROADWELL, "threads": 8}
    for kind in (Load.ONE_THREAD, Load.ALL_CPUS):
        comparison = compared(BROADWELL, guest, kind, one_thread_ratios=[ratio])
        assert comparison.level == Level.REFUSED
        assert "another CPU than it states" in comparison.reason


def test_one_fast_benchmark_of_several_does_not_doubt_the_cpu():
    comparison = compared(
        GRAVITON, GRAVITON, Load.ALL_CPUS, one_thread_ratios=[0.99, 0.98, 1.25]
    )

    assert comparison.level == Level.SAME_MODEL


@pytest.mark.parametrize("versions", [("3.4.0", "3.3.0"), ("0.20.01", "0.17.08")])
def test_other_versions_of_a_tool_are_refused(versions):
    comparison = compared(GRAVITON, GRAVITON, Load.ALL_CPUS, versions=versions)

    assert comparison.level == Level.REFUSED
    assert all(version in comparison.reason for version in versions)


def test_memory_needs_the_same_modules_or_family():
    fast = {
        **GRAVITON_3,
        "product_family": "c7g",
        "memory_modules": "8 x 16 GiB, 4800 MT/s",
    }
    slow = {
        **GRAVITON_3,
        "product_family": "m7g",
        "memory_modules": "8 x 32 GiB, 4400 MT/s",
    }
    guest = {**GRAVITON_3, "product_family": "c7g"}

    assert compared(fast, guest, Load.MEMORY).level == Level.SAME_MODEL
    assert compared(slow, guest, Load.MEMORY).level == Level.REFUSED
    assert compared(slow, fast, Load.MEMORY).level == Level.REFUSED
    assert compared(slow, guest, Load.ALL_CPUS).level == Level.SAME_MODEL


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("sockets", 2),
        ("stepping", "r1p1"),
        ("numa_nodes", 4),
        ("cores", 48),
        ("l3_mib", 64),
        ("threads", None),
    ],
)
def test_another_topology_is_another_machine_model(fact, value):
    native = {
        **GRAVITON,
        **{"stepping": "r3p1", "numa_nodes": 1, "cores": 64, "l3_mib": 32},
    }

    assert compared(native, native, Load.ALL_CPUS).level == Level.SAME_MODEL
    guest = {**native, fact: value}
    assert compared(native, guest, Load.ALL_CPUS).level == Level.REFUSED
    assert compared(native, guest, Load.ONE_THREAD).level == Level.SAME_CPU


def test_runs_of_one_machine_are_of_the_same_machine():
    one = specimen_from_facts("host", "lab", GRAVITON)

    assert compare_specimens(one, one, Load.DEVICE).level == Level.SAME_MACHINE


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("INTEL(R) XEON(R) PLATINUM 8559C", "Intel(R) Xeon(R) Platinum 8559C"),
        ("AMD EPYC 7R13 48-Core Processor", "AMD EPYC 7R13 Processor"),
        ("AMD EPYC 9R14 96-Core Processor", "AMD EPYC 9R14"),
        ("Intel(R) Xeon(R) 6985P-C", "Intel(R) Xeon(R) 6985P-C CPU @ 2.30GHz"),
        ("Intel® Xeon® CPU E5-2686 v4 @ 2.30GHz", "intel xeon  e5-2686 V4"),
    ],
)
def test_spellings_of_one_cpu_are_equal(one, other):
    assert normalized_cpu(one) == normalized_cpu(other)


def test_other_generations_of_a_cpu_are_not_equal():
    names = ["Xeon E5-2686 v4", "Xeon E5-2686 v3", "EPYC 9R14", "EPYC 9R45"]

    assert len({normalized_cpu(name) for name in names}) == 4


@pytest.mark.parametrize(
    ("parameters", "expected_load"),
    [
        ({"instances": 1}, Load.ONE_THREAD),
        ({"instances": 48}, Load.SOME_CPUS),
        ({"instances": 96}, Load.ALL_CPUS),
        ({"threads": "1"}, Load.ONE_THREAD),
        ({}, Load.ALL_CPUS),
    ],
)
def test_the_number_of_threads_decides_the_load(parameters, expected_load):
    assert load_of("CPU", parameters, threads=96) == expected_load


def side(values, family_name=""):
    return [
        Reading(f"{family_name}{n}", value, family_name and f"{family_name}{n}")
        for n, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("count", "weight"),
    [(2, Weight.SHOWN), (3, Weight.INDICATIVE), (5, Weight.VERDICT)],
)
def test_machines_of_both_sides_decide_the_weight_of_a_model(count, weight):
    natives = [0.01 * n for n in range(count)]
    for name in ("", "c"):
        effect = model_effect("m", side(natives, name), side(natives, name))
        assert effect.weight == weight
        assert (effect.interval is None) == (weight == Weight.SHOWN)


def test_pairs_remove_what_families_have_in_common():
    values = [0.0, 0.1, 0.2, 0.3]
    paired = model_effect("m", side(values, "f"), side(values, "f"))
    unpaired = model_effect("m", side(values), side(values))

    assert paired.basis == Basis.PAIRS
    assert unpaired.basis == Basis.WELCH
    assert paired.interval == (0.0, 0.0)
    # Welch's interval of four against four: t(6) sqrt(2 s^2 / 4).
    reach = 2.446912 * math.sqrt(2 * stdev(values) ** 2 / 4)
    assert unpaired.interval == pytest.approx((-reach, reach), rel=1e-5)


def test_repeated_runs_of_a_machine_are_one_reading():
    natives = [Reading("a", 0.0), Reading("b", 0.1), Reading("c", 0.2)]
    repeated = [*natives, Reading("c", 0.4)]

    effect = model_effect("m", repeated, natives)

    assert effect.native_count == 3
    assert effect.log_ratio == pytest.approx(-0.1 / 3)


def test_a_side_without_machines_has_no_effect():
    assert model_effect("m", [], [Reading("a", 0.0)]) is None


def test_two_models_are_shown_without_pool():
    pool = pool_models({"a": [0.0], "b": [0.1]})

    assert (pool.model_count, pool.pair_count) == (2, 2)
    assert pool.log_ratio is None
    assert pool.weight == Weight.SHOWN


@pytest.mark.parametrize(("count", "weight"), [(4, 1), (5, 2)])
def test_five_models_suffice_for_a_verdict(count, weight):
    models = {str(n): [0.0, 0.001] for n in range(count)}

    assert pool_models(models).weight == weight


def test_a_model_that_changes_the_direction_is_named():
    models = {str(n): [0.0, 0.001] for n in range(5)} | {"odd": [0.2]}
    pool = pool_models(models)

    assert pool.direction == UNDECIDED
    assert pool.changing_models == ("odd",)


def test_providers_of_models_are_counted():
    models = {"a": [0.0], "b": [0.1], "c": [0.1]}
    providers = {"a": "AWS", "b": "AWS", "c": "GCP"}

    assert pool_models(models, providers=providers).provider_count == 2
