"""The studies with repeated runs, and the first study of Hyper-V."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from math import exp

import pytest

from benchmarks import tools
from benchmarks.models import Effect, Run, Sample, Session
from benchmarks.parsing.tool import Metric, check_value
from benchmarks.reference.data_files import read_rows
from benchmarks.reference.study_documents import reference_study
from benchmarks.studies import checking

VALUES = {
    "ufcg-2026-power9": 900,
    "oulu-2021-microvm": 1500,
    "ibm-2014-docker-kvm": 370,
    "memfault-2024-wsl2": 9,
    "poliquin-2023-wsl2": 22,
    "friedman-2018-hyperv": 6,
}


PLAIN = Metric("any", "s", "neither", "CPU")


@pytest.fixture
def loaded(load_study):
    """Load a study with every value, and check it."""

    def load(slug):
        study = load_study(slug)
        checking.check_due_studies(timedelta(0))
        assert set(study.runs.values_list("status", flat=True)) == {Run.Status.PARSED}
        assert Sample.objects.filter(run__study=study).count() == VALUES[slug]
        return study

    return load


def effects(study, hypervisor, **wanted):
    """Return the ratios of a hypervisor's cells, lowest first."""
    effects_found = Effect.objects.filter(study=study, hypervisor=hypervisor, **wanted)
    return sorted(exp(effect.log_ratio) for effect in effects_found)


@pytest.mark.parametrize("slug", VALUES)
def test_every_value_is_uploaded_with_its_document_and_table(slug):
    uploaded = Counter(
        (run["document"], run["table"], sample["value"])
        for run in reference_study(slug).runs
        for sample in run["samples"]
    )

    printed = Counter(
        (row.document, row.table, float(row.value)) for row in read_rows(slug)
    )
    assert uploaded == printed
    assert sum(printed.values()) == VALUES[slug]


@pytest.mark.parametrize("slug", VALUES)
def test_every_metric_is_known_or_declared_and_its_unit_converts(slug):
    study = reference_study(slug)
    declared = {tool["slug"]: tool["metrics"] for tool in study.own_tools}

    for run in study.runs:
        for sample in run["samples"]:
            if run["tool"] in declared:
                units = {
                    entry["name"]: entry["unit"] for entry in declared[run["tool"]]
                }
                metric = replace(PLAIN, unit=units[sample["metric"]])
            else:
                metric = tools.get(run["tool"]).metric(sample["metric"])
            assert check_value(metric, sample["value"], sample["unit"]) > 0


@pytest.mark.parametrize("slug", VALUES)
def test_every_run_has_a_unique_key(slug):
    runs = reference_study(slug).runs

    assert len({run["key"] for run in runs}) == len(runs)


def test_ibm_shows_the_cost_of_a_hidden_topology(loaded):
    """Report RC25482: about half of native LINPACK, and nearly all if the topology is
    known.
    """
    study = loaded("ibm-2014-docker-kvm")

    hidden, visible = effects(study, "KVM", work_class="cpu-floating-point")
    assert hidden == pytest.approx(0.449, abs=0.001)
    assert visible == pytest.approx(0.979, abs=0.001)
    # Ten trials of one execution of the program are one run.
    single = Effect.objects.filter(work_class="cpu-floating-point")
    assert {effect.exclusion for effect in single} == {"single_run"}


def test_clones_of_a_machine_are_sessions_and_emulation_is_excluded(loaded):
    study = loaded("ufcg-2026-power9")

    names = set(Session.objects.filter(study=study).values_list("name", flat=True))
    assert {"VM 1, KVM", "VM 2, KVM", "VM 3, KVM"} < names
    emulated = Effect.objects.filter(study=study, hypervisor="QEMU TCG")
    assert {effect.exclusion for effect in emulated} == {"emulation"}
    assert "CC BY 4.0" in study.note


def test_wsl2_is_not_a_hyper_v_server_and_windows_no_baseline_of_ubuntu(loaded):
    study = loaded("memfault-2024-wsl2")

    build = {"work_class": "application-build"}
    assert effects(study, "Hyper-V (WSL2 utility VM)", **build) == pytest.approx(
        [664.444 / 754.642, 664.444 / 723.323]
    )
    assert not effects(study, "Hyper-V", **build)


def test_hyper_v_of_friedman_is_compared_with_four_native_processors(loaded):
    study = loaded("friedman-2018-hyperv")

    assert effects(study, "Hyper-V") == pytest.approx([90 / 147, 90 / 105])


def test_training_under_wsl2_is_compared_with_the_same_cores(loaded):
    study = loaded("poliquin-2023-wsl2")

    rates = Effect.objects.filter(study=study, case__metric="training rate")
    assert rates.count() == 3
    assert set(rates.values_list("exclusion", flat=True)) == {"single_run"}
