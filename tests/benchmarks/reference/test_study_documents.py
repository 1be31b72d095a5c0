import csv
import json
from collections import Counter
from uuid import UUID

import pytest

from benchmarks import tools
from benchmarks.fingerprints import (
    SystemDescription,
    canonical_parameters,
    case_fingerprint,
    system_fingerprint,
)
from benchmarks.hypervisor_names import canonical_hypervisor, canonical_virtualization
from benchmarks.parsing.tool import check_value
from benchmarks.reference.data_files import DATA, published_studies, read_rows
from benchmarks.reference.study_documents import reference_studies, reference_study

STUDIES = {each.document["slug"]: each for each in reference_studies()}
# Printed in documents, in our own terms; the others are raw logs of other labs.
SLUGS = list(published_studies()["studies"])[:5]
RUNS = [run for slug in SLUGS for run in STUDIES[slug].runs]
SAMPLES = [(run, sample) for run in RUNS for sample in run["samples"]]
every_study = pytest.mark.parametrize("slug", STUDIES)

RUN_FIELDS = {
    *("key", "study", "system", "tool", "scenario", "vms", "slot", "load"),
    *("corun", "clock", "document", "table", "note", "facts", "samples"),
}
SYSTEM_FIELDS = {
    *("host", "hypervisor", "hypervisor_version", "virtualization", "guest_os"),
    *("guest_bits", "vcpus", "memory_bytes", "options"),
}


def printed_rows(slug):
    """Return the CSV as stored, read without any of the product's code."""
    with (DATA / f"{slug}.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            parameters = {}
            for pair in filter(None, row.pop("params").split(";")):
                key, _, value = pair.partition("=")
                parameters[key] = value
            if "elapsed_s" in parameters:
                parameters["elapsed_s"] = float(parameters["elapsed_s"])
            row["value"] = float(row["value"])
            yield row, parameters


def row_of(run, sample):
    """Return the CSV row that follows from the uploaded documents only."""
    system, parameters = run["system"], dict(sample["parameters"])
    options = dict(system.get("options", {}))
    row = {
        "document": run["document"],
        "table": run["table"],
        "machine": system["host"],
        "hypervisor": system["hypervisor"],
        "hypervisor_version": system.get("hypervisor_version", ""),
        "virtualization": system.get("virtualization", ""),
        "guest_os": system.get("guest_os", ""),
        "guest_bits": str(system.get("guest_bits", "")),
        "hw_virt": options.pop("hw_virt", ""),
        "guest_tools": options.pop("guest_tools", ""),
        "scenario": run["scenario"],
        "vms": str(run.get("vms", "")),
        "vm": run.get("slot", ""),
        "tool": tools.get(run["tool"]).title,
        "metric": sample["metric"],
        "operation": parameters.pop("operation", ""),
        "access": parameters.pop("access", ""),
        "clock": run["clock"],
        "value": sample["value"],
        "unit": sample["unit"],
        "note": run.get("note", ""),
    }
    facts = {**options, **run.get("facts", {}), **parameters}
    return row, facts | ({"load": run["load"]} if "load" in run else {})


def as_multiset(rows):
    return Counter(
        (tuple(sorted(row.items())), frozenset(parameters.items()))
        for row, parameters in rows
    )


@pytest.mark.parametrize("slug", SLUGS)
def test_every_printed_row_is_reproduced(slug):
    uploaded = []
    for run in STUDIES[slug].runs:
        for sample in run["samples"]:
            row, parameters = row_of(run, sample)
            if slug in {"inqbus-2008-io", "heidelberg-2007-xen"}:
                parameters["repetition"] = str(sample["repetition"])
            uploaded.append((row, parameters))
    printed = []
    for row, parameters in printed_rows(slug):
        if slug in {"inqbus-2008-io", "heidelberg-2007-xen"}:
            parameters.setdefault("repetition", "1")
        printed.append((row, parameters))

    assert as_multiset(uploaded) == as_multiset(printed)


def test_there_are_1094_rows():
    assert len(SAMPLES) == 1094
    assert {slug: len(read_rows(slug)) for slug in SLUGS} == {
        "lmu-2010-esxi": 374,
        "lmu-2010-xen": 337,
        "heidelberg-2007-xen": 190,
        "uoc-2012-kvm": 140,
        "inqbus-2008-io": 53,
    }


def test_keys_are_stable_and_unique():
    again = [run for slug in SLUGS for run in reference_study(slug).runs]

    assert again == RUNS
    assert len({UUID(run["key"]) for run in RUNS}) == len(RUNS)


def test_keys_are_those_of_the_first_release():
    assert [STUDIES[slug].runs[0]["key"] for slug in SLUGS] == [
        "f509ba59-d4ec-5488-a02e-c890de32a491",
        "aa7cd442-4587-5163-889b-e7f1af774b13",
        "3f60dc83-a201-533e-9173-03437f246849",
        "0a170720-809b-5b26-b74f-0c91de742bfb",
        "403d09d5-6ae0-508f-98bf-fe9bbe43ccbb",
    ]


def test_documents_have_the_fields_of_an_upload_and_are_plain_json():
    for run in RUNS:
        assert run.keys() <= RUN_FIELDS
        assert run["system"].keys() <= SYSTEM_FIELDS
        assert {"key", "study", "system", "tool", "samples"} <= run.keys()
        assert json.loads(json.dumps(run)) == run


def test_values_that_a_study_does_not_state_are_omitted():
    stated = [
        value for run in RUNS for value in (*run.values(), *run["system"].values())
    ]

    assert not [value for value in stated if value in (None, "", {})]
    assert STUDIES["inqbus-2008-io"].runs[0]["system"] == {
        "host": "inqbus-server-a",
        "hypervisor": "native",
    }


def test_every_number_is_valid_for_its_metric():
    for run, sample in SAMPLES:
        metric = tools.get(run["tool"]).metric(sample["metric"])
        reading = check_value(metric, sample["value"], sample["unit"])
        assert reading == sample["value"]


def test_rows_of_one_execution_are_one_run():
    sizes = Counter((run["tool"], len(run["samples"])) for run in RUNS)

    assert sizes["netperf", 5] == 33
    assert sizes["httperf", 7] == 4
    assert sizes["sysbench", 10] == 4
    assert sizes["b_eff_io", 4] == 12
    assert sizes["watts-up", 2] == 12
    assert sizes["tiotest", 24] == 1


def test_each_repetition_is_a_separate_run():
    repeated = Counter(run["system"]["host"] for run in RUNS if run["tool"] == "hdparm")

    assert repeated == {"inqbus-server-a": 11, "inqbus-server-b": 11}
    assert all(len(run["samples"]) == 1 for run in RUNS if run["tool"] == "hdparm")


def test_only_repetitions_share_a_cell():
    cells = Counter(
        (
            run["study"],
            system_fingerprint(SystemDescription(**run["system"])),
            *(run["scenario"], run.get("vms"), run.get("slot"), run.get("load")),
            case_fingerprint(run["tool"], sample["metric"], sample["parameters"]),
        )
        for run, sample in SAMPLES
    )

    # Two disks read 11 times, four file system tests repeated 5 times, one WAN path 3.
    assert Counter(cells.values()) == {1: 1049, 11: 2, 5: 4, 3: 1}


def test_system_settings_are_options_and_not_parameters_of_the_case():
    def options(**wanted):
        return [
            r for r in RUNS if wanted.items() <= r["system"].get("options", {}).items()
        ]

    assert len(options(tuned="yes")) == 25
    assert len(options(bridge="on")) == 5
    assert len(options(storage="ioDrive", swap="SSD")) == 7
    assert len(options(hw_virt="off", guest_tools="installed")) > 0
    for _, sample in SAMPLES:
        settings = {"tuned", "bridge", "storage", "swap", "elapsed_s", "load"}
        assert not settings & sample["parameters"].keys()


def test_the_elapsed_time_is_a_fact_and_the_load_a_field_of_the_run():
    netperf = next(run for run in RUNS if run["tool"] == "netperf")
    loaded = [run for run in RUNS if run["scenario"] == "under CPU load"]

    assert netperf["facts"] == {"elapsed_s": 100.02}
    assert {run["load"] for run in loaded} == {"LINPACK in 2 further VMs"}


def test_runs_that_ran_together_share_a_name():
    together = Counter(
        run["corun"] for run in STUDIES["lmu-2010-xen"].runs if "corun" in run
    )
    disk = (
        "Iometer disk, parallel, 3 VMs, "
        "Xen 3.3 paravirtual Ubuntu Server 9.04 32-bit hw_virt=on"
    )

    assert together[disk] == 4
    assert not any("corun" in run for run in RUNS if run["scenario"] == "single")
    assert all("corun" in run for run in RUNS if run["scenario"] == "parallel")


def test_a_meter_shares_the_name_with_its_work():
    runs = STUDIES["uoc-2012-kvm"].runs
    workloads = {}
    for run in runs:
        workloads.setdefault(run["corun"], set()).add(run["tool"])

    assert Counter(map(frozenset, workloads.values())) == {
        frozenset({"watts-up", "httperf"}): 1,
        frozenset({"watts-up", "sysbench"}): 4,
        frozenset({"watts-up"}): 7,
        frozenset({"b_eff_io"}): 12,
    }


def test_the_uoc_study_is_compared_with_hdd_and_swap_on_hdd():
    study = STUDIES["uoc-2012-kvm"]

    assert study.reference_system["options"] == {"storage": "HDD", "swap": "HDD"}
    assert study.reference_system in [run["system"] for run in study.runs]
    other_studies = [each for slug, each in STUDIES.items() if slug != "uoc-2012-kvm"]
    assert {each.reference_system for each in other_studies} == {None}


@every_study
def test_every_machine_of_the_runs_is_registered_first(slug):
    study = STUDIES[slug]

    hosts = {host["slug"]: host for host in study.hosts}
    assert hosts.keys() == {run["system"]["host"] for run in study.runs}
    assert all(host["title"] for host in hosts.values())


def test_a_machine_without_published_facts_has_a_title_only():
    hosts = {host["slug"]: host for host in STUDIES["inqbus-2008-io"].hosts}

    assert hosts["inqbus-wan"] == {
        "slug": "inqbus-wan",
        "title": "inqbus: two data centres",
        "facts": {},
    }
    assert hosts["inqbus-server-a"]["facts"] == {"storage": "3ware RAID 5"}


@every_study
def test_a_study_is_public_and_has_its_publication_date(slug):
    study = STUDIES[slug].document

    assert study["visibility"] == "public"
    assert study["published"] == published_studies()["studies"][slug]["date"]
    assert study["title"]
    assert study["note"]


def test_systems_are_in_canonical_form():
    for run in RUNS:
        system = run["system"]
        assert canonical_hypervisor(system["hypervisor"]) == system["hypervisor"]
        kind = system.get("virtualization", "")
        assert canonical_virtualization(kind) == kind
        canonical_parameters(system.get("options", {}))


def test_guests_have_the_sizes_of_the_study():
    sizes = {
        (run["study"], run["system"].get("vcpus"), run["system"].get("memory_bytes"))
        for run in RUNS
        if run["system"]["hypervisor"] != "native"
    }
    assert sizes == {
        ("lmu-2010-esxi", 1, None),
        ("lmu-2010-xen", 1, 2**30),
        ("heidelberg-2007-xen", None, None),
        ("uoc-2012-kvm", 1, None),
    }
