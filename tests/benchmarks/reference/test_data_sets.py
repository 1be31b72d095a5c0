"""The data sets: every value becomes a sample of the right host, system and session."""

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from benchmarks import tools
from benchmarks.fingerprints import SystemDescription, system_fingerprint
from benchmarks.hypervisor_names import VIRTUALIZATION_TYPES
from benchmarks.parsing.tool import Metric, check_value, normalize_name
from benchmarks.reference.data_files import data_set_names, read_rows
from benchmarks.reference.host_documents import product_family
from benchmarks.reference.name_mapping import CUSTOM_TOOLS
from benchmarks.reference.study_documents import reference_study
from benchmarks.work_classes import WORK_CLASSES

VALUES = {
    "atiratree-2018-power": 1900,
    "atiratree-2018-power-pgbench": 1119,
    "atiratree-2018-x86": 2314,
    "cunnie-2021-esxi-storage": 1734,
    "hpi-2016-lightweight": 350,
    "neu-2021-vmware-workstation": 489,
    "nsdi-2020-microvm": 2494,
    "sparecores-2026-cloud": 2757,
}
POWER, PGBENCH, X86, CUNNIE, HPI, NEU, NSDI, SPARECORES = VALUES
PLAIN = Metric("any", "s", "neither", "CPU", allows_zero=True)
every_set = pytest.mark.parametrize("slug", VALUES)
study = cache(reference_study)


def runs(slug, **wanted):
    return [run for run in study(slug).runs if wanted.items() <= run.items()]


def options(run):
    return run["system"].get("options", {})


def test_there_are_eight_data_sets():
    assert data_set_names() == tuple(VALUES)


@every_set
def test_every_value_is_uploaded_with_its_document_and_table(slug):
    uploaded = Counter(
        (run["document"], run["table"], sample["value"])
        for run in study(slug).runs
        for sample in run["samples"]
    )

    printed = Counter(
        (row.document, row.table, float(row.value)) for row in read_rows(slug)
    )
    assert uploaded == printed
    assert sum(printed.values()) == VALUES[slug]


@every_set
def test_every_run_has_a_unique_key(slug):
    assert len({run["key"] for run in study(slug).runs}) == len(study(slug).runs)


@every_set
def test_every_metric_is_known_or_declared_and_its_unit_converts(slug):
    declared = {
        (tool["slug"], metric["name"]): replace(PLAIN, unit=metric["unit"])
        for tool in study(slug).own_tools
        for metric in tool["metrics"]
    }
    own = {tool for tool, _ in declared}

    for run in study(slug).runs:
        for sample in run["samples"]:
            name = sample["metric"]
            metric = (
                declared[run["tool"], name]
                if run["tool"] in own
                else tools.get(run["tool"]).metric(name)
            )
            assert check_value(metric, sample["value"], sample["unit"]) >= 0


@every_set
def test_declared_metrics_have_known_work_classes(slug):
    classes = {
        metric["work_class"]
        for tool in study(slug).own_tools
        for metric in tool["metrics"]
    }
    assert classes <= {"", *WORK_CLASSES}


@every_set
def test_every_machine_of_the_runs_is_registered_and_has_a_title(slug):
    hosts = {host["slug"]: host for host in study(slug).hosts}

    assert hosts.keys() == {run["system"]["host"] for run in study(slug).runs}
    assert all(host["title"] for host in hosts.values())


@every_set
def test_types_of_virtualization_are_in_the_vocabulary(slug):
    kinds = {run["system"].get("virtualization", "") for run in study(slug).runs}

    assert kinds <= VIRTUALIZATION_TYPES.keys()


@every_set
def test_attribution_and_licence_are_stated(slug):
    document = study(slug).document

    assert document["data_licence"]
    assert "values copied unchanged" in document["note"]
    assert "Source: github:" in document["note"]


def test_each_specimen_is_a_host_and_names_its_machine_model():
    hosts = {host["slug"]: host["facts"] for host in study(SPARECORES).hosts}

    assert len(hosts) == 161
    facts = hosts["aws-xeon-platinum-8275cl-96-c5-metal"]
    assert facts["machine_model"] == "aws-xeon-platinum-8275cl-96"
    assert facts["specimen"] == "c5.metal"
    assert facts["product_family"] == "c5"
    assert facts["provider"] == "Amazon Web Services"
    assert facts["memory_modules"]
    assert len({facts["machine_model"] for facts in hosts.values()}) == 30


def test_no_guest_shares_a_host_with_a_native_system_of_another_specimen():
    sides = {}
    for run in study(SPARECORES).runs:
        system = run["system"]
        is_native = system["hypervisor"] == "native"
        sides.setdefault(system["host"], set()).add(is_native)

    assert {len(side) for side in sides.values()} == {1}


@pytest.mark.parametrize(
    ("specimen", "family"),
    [
        ("c5.metal", "c5"),
        ("c5.24xlarge", "c5"),
        ("c4-highmem-288-lssd-metal", "c4-highmem-288-lssd"),
        ("c4-highmem-288-lssd", "c4-highmem-288-lssd"),
        ("Standard_DC1s_v2", "Standard_DC1s_v2"),
    ],
)
def test_metal_and_guest_of_one_product_have_the_same_family(specimen, family):
    assert product_family(specimen) == family


def test_lengths_that_a_study_varies_are_parameters():
    loads = runs(SPARECORES, tool="stress-ng")

    lengths = {run["samples"][0]["parameters"]["seconds"] for run in loads}
    assert lengths == {"10", "20"}
    assert {run["tool_version"] for run in loads} == {"0.17.08", "0.20.01"}
    streams = {
        run["samples"][0]["parameters"]["streams"] for run in runs(NSDI, tool="iperf3")
    }
    assert streams == {1, 10}


def test_a_sitting_is_a_session_of_one_setting_and_load():
    sittings = Counter(
        run["session"]
        for run in runs(POWER, tool="wildfly-testsuite")
        if options(run)["setting"] == "v1-baseline"
    )

    assert len(sittings) == 7
    assert sum(sittings.values()) == 50
    assert "v1-baseline, A/wildfly/v1-main, sitting 1" in sittings


def test_the_memory_of_a_guest_is_a_property_of_the_system():
    sizes = {run["system"]["memory_bytes"] for run in study(X86).runs}
    memory = runs(NSDI, tool="process-memory")

    assert sizes == {5 * 2**30, 7 * 2**30}
    assert all("memory_bytes" not in run["system"] for run in memory)
    assert all(run["samples"][0]["parameters"]["memory"] for run in memory)


def test_settings_are_options_of_the_system():
    native_io = next(
        run
        for run in study(PGBENCH).runs
        if options(run)["setting"] == "v5-native-thread-no-cache"
    )

    assert options(native_io)["disk_io"] == "native"
    assert options(native_io)["disk_cache"] == "none"
    assert native_io["samples"][0]["parameters"] == {"workload": "buffer"}


def test_custom_tools_have_other_names_than_built_in_ones():
    built_in = {
        normalize_name(name) for tool in tools.TOOLS.values() for name in tool.names
    }

    for slug, tool in CUSTOM_TOOLS.items():
        assert built_in.isdisjoint(map(normalize_name, (slug, tool["title"])))


def test_three_results_of_one_start_of_gobonniego_are_one_run():
    assert {len(run["samples"]) for run in study(CUNNIE).runs} == {3}


def test_concurrent_starts_have_no_common_co_run():
    parallel = runs(NSDI, scenario="parallel")

    assert {run["vms"] for run in parallel} == {10, 50, 100}
    assert not any("corun" in run for run in parallel)


def test_a_rate_of_zero_is_a_failed_run():
    failed = [run for run in study(HPI).runs if "failed" in run]

    assert [run["samples"][0]["value"] for run in failed] == [0]


def test_printed_means_are_not_runs_of_the_result_of_single_runs():
    linpack = runs(NEU, tool="linpack")
    statistics = Counter(
        run["samples"][0]["parameters"].get("statistic", "") for run in linpack
    )
    printed = next(run for run in linpack if run["document"].endswith("paper"))

    assert statistics == {"": 30, "mean in DeVries 2021 paper": 3}
    (sample,) = printed["samples"]
    assert (sample["runs"], sample["standard_deviation"]) == (10, 44.311)
    assert printed["facts"]["compiler"] == "gcc 4.8.5 -O3"


def test_containers_in_a_guest_are_other_systems_than_the_guest():
    systems = {
        system_fingerprint(SystemDescription(**run["system"]))
        for run in study(HPI).runs
        if run["system"]["hypervisor"] == "KVM"
        and run["system"]["guest_os"] == "Ubuntu"
    }
    assert len(systems) == 3


def test_settings_of_the_power_study_are_compared_with_the_reference_that_it_names():
    power = study(POWER)
    pairs = {
        (system["options"]["setting"], reference["options"]["setting"])
        for system, reference in power.system_references
    }

    assert power.reference_system["options"] == {"setting": "v1-baseline"}
    shifted = "v39-shifted-baseline"
    assert pairs == {
        ("v37-three-iothreads", shifted),
        ("v38-N-numa-topology-pinspread", shifted),
        ("v43-final", shifted),
    }


def test_guests_of_another_size_have_a_reference_of_this_size():
    pairs = study(X86).system_references
    sizes = {
        (system["memory_bytes"], reference["memory_bytes"])
        for system, reference in pairs
    }
    pages = [
        reference["options"]["setting"]
        for system, reference in pairs
        if system["options"]["setting"] == "v33-hugepages-L-vm-smaller-mem"
    ]

    assert study(X86).reference_system["memory_bytes"] == 7 * 2**30
    assert sizes == {(5 * 2**30, 5 * 2**30)}
    assert set(pages) == {"v32-new-baseline-vm-smaller-mem"}
