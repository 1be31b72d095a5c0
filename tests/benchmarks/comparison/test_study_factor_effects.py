"""Effects of parameters on a study's relative performance, from its cells."""

import itertools

import pytest

from benchmarks.comparison.study_factor_effects import study_factor_effects
from benchmarks.models import Efficiency, Study
from benchmarks.reference.study_documents import reference_study
from benchmarks.studies import checking
from benchmarks.viewer import ANYONE, Viewer

ESXI = {"hypervisor": "ESXi", "virtualization": "full"}


@pytest.fixture
def factorial(submit, run_document):
    """Tools double the throughput, AMD-V has no effect; one native run."""
    documents = [run_document(50.0)]
    for at, (tools, amd_v, vcpus) in enumerate(
        itertools.product(("absent", "installed"), ("off", "on"), (1, 2))
    ):
        options = {"guest_tools": tools, "hw_virt": amd_v}
        value = (10 if tools == "absent" else 20) * (1 + at % 3 / 100)
        system = {**ESXI, "vcpus": vcpus, "options": options}
        documents.append(run_document(value, system=system))
    return submit(*documents)


@pytest.fixture
def esxi_study(lab, agent, submit):
    """The single runs of the ESXi study, included in every installation."""
    study = reference_study("lmu-2010-esxi")
    Study.objects.create(
        lab=lab, slug="lmu-2010-esxi", title="ESXi", visibility="public"
    )
    for each in study.hosts:
        lab.hosts.create(slug=each["slug"])
    submit(*(run for run in study.runs if run["scenario"] == "single"))
    return Study.objects.get(slug="lmu-2010-esxi")


def named(analysed):
    return {
        " x ".join(factor.names[0] for factor in each.term): each
        for each in analysed.effects
    }


def test_it_finds_the_effects_on_a_case(factorial, study):
    answer = study_factor_effects(ANYONE, study)

    (network,) = answer.components
    (case,) = network.per_case
    effects = named(case.effects)
    assert (answer.scenario, answer.response) == ("single", "relative_performance")
    assert (network.component, case.effects.error_source) == ("network", "contrasts")
    assert effects["guest_tools"].strength == "clear"
    assert effects["guest_tools"].ratio == pytest.approx(2, rel=0.02)
    assert effects["hw_virt"].strength == "none"
    assert named(network.overall.effects).keys() == effects.keys()


def test_native_machines_are_not_part_of_the_design(factorial, study):
    (network,) = study_factor_effects(ANYONE, study).components

    assert network.overall.effects.cell_count == 8
    assert {
        names for each in network.overall.effects.factors for names in each.names
    } == {
        *("guest_tools", "hw_virt", "vcpus"),
    }


def test_a_study_of_native_machines_compares_values(submit, run_document, lab):
    lab.hosts.create(slug="beta")
    for host, values in (("alpha", (90, 91, 92)), ("beta", (40, 41, 42))):
        submit(*(run_document(value, system={"host": host}) for value in values))

    answer = study_factor_effects(ANYONE, Study.objects.get())

    (network,) = answer.components
    (effect,) = network.overall.effects.effects
    assert (answer.response, network.overall.effects.error_source) == (
        "value",
        "replicated",
    )
    assert effect.ratio == pytest.approx(41 / 91)
    assert effect.strength == "clear"


@pytest.mark.parametrize(
    ("xen_day", "are_apart", "strength"),
    [(2, False, "clear"), (3, True, "possible")],
)
def test_a_guest_on_another_day_has_only_possible_effects(
    submit, run_document, xen, xen_day, are_apart, strength
):
    """Two guests differ by 10 %, with native runs on the same or another day."""
    for system, day, value in (
        ({}, 2, 100),
        ({**xen, "vcpus": 1}, 2, 80),
        ({**xen, "vcpus": 2}, xen_day, 88),
    ):
        submit(
            *(
                run_document(
                    value + run / 100,
                    system=system,
                    started_at=f"2026-07-0{day}T08:{run:02}:00Z",
                )
                for run in range(5)
            )
        )
    checking.check_study(Study.objects.get())

    (network,) = study_factor_effects(ANYONE, Study.objects.get()).components

    (effect,) = network.overall.effects.effects
    assert network.overall.effects.error_source == "replicated"
    assert network.overall.effects.are_sessions_different is are_apart
    assert (effect.ratio, effect.strength) == (pytest.approx(1.1, rel=1e-3), strength)


def test_the_value_can_be_the_response(factorial, study):
    answer = study_factor_effects(ANYONE, study, response="value")

    effects = named(answer.components[0].overall.effects)
    assert effects["guest_tools"].ratio == pytest.approx(2, rel=0.02)
    assert effects["guest_tools"].baseline_share == 0


def test_cells_without_an_efficiency_are_counted(factorial, study):
    Efficiency.objects.filter(cell__system__vcpus=2).update(ratio=None)

    (network,) = study_factor_effects(ANYONE, study).components

    assert network.overall.excluded == {"no_ratio": 4}
    assert (
        network.overall.effects.cell_count,
        network.overall.effects.error_source,
    ) == (4, "not_assessed")


def test_unknown_filters_give_an_empty_result(factorial, study):
    assert study_factor_effects(ANYONE, study, component="disk").components == ()
    assert study_factor_effects(ANYONE, study, scenario="parallel").components == ()


def test_an_empty_study_has_no_scenario(study):
    answer = study_factor_effects(ANYONE, study)

    assert (answer.scenario, answer.components) == ("", ())


def test_a_private_study_is_visible_to_its_lab_only(
    submit, run_document, private_study, lab
):
    submit(run_document(study=private_study.slug))

    assert study_factor_effects(ANYONE, private_study).components == ()
    assert study_factor_effects(Viewer(frozenset({lab.pk})), private_study).components


def test_factor_effects_need_a_fixed_number_of_queries(
    factorial, study, django_assert_num_queries
):
    with django_assert_num_queries(5):
        study_factor_effects(ANYONE, study)


def test_it_reproduces_the_esxi_study(esxi_study):
    """CPU: nothing. Network: tools, bits and OS. Disk: OS, with AMD-V and tools."""
    answer = study_factor_effects(ANYONE, esxi_study)

    clear = {
        each.component: {
            name
            for name, effect in named(each.overall.effects).items()
            if effect.strength == "clear" and " x " not in name
        }
        for each in answer.components
    }
    assert clear == {
        "CPU": set(),
        "memory": set(),
        "disk": {"guest_os"},
        "network": {"guest_os", "guest_bits", "guest_tools"},
    }
    network = named(answer.components[3].overall.effects)
    assert round(network["guest_tools"].ratio, 2) == 1.37


def test_a_misprinted_native_value_is_excluded_and_counted(esxi_study):
    """Native RAM reads on Ubuntu were printed a thousand times too large."""
    answer = study_factor_effects(ANYONE, esxi_study, component="memory")

    (memory,) = answer.components
    assert memory.overall.excluded == {"implausible": 8}
    assert len(memory.overall.subjects) == 5
    assert memory.overall.effects.cell_count == 16


def is_share(case: str) -> bool:
    return case.startswith("CPU utilization")


def test_shares_of_processor_time_have_no_effect(load_study):
    """A guest's share of processor time was 15.765 of native's, an effect of x 36.9."""
    study = load_study("lmu-2010-xen", lambda run: run["tool"] == "iometer")

    for response in ("relative_performance", "value"):
        answer = study_factor_effects(
            ANYONE, study, scenario="single", response=response
        )
        analyses = [
            analysis for each in answer.components for analysis in each.per_case
        ]
        shares = [
            analysis for analysis in analyses if is_share(analysis.subjects[0].case)
        ]

        assert shares
        assert {len(analysis.observations) for analysis in shares} == {0}
        assert {reason for analysis in shares for reason in analysis.excluded} == {
            "no_speed"
        }
        wholes = [each.overall for each in answer.components if each.overall]
        assert not any(
            is_share(subject.case)
            for analysis in wholes
            for subject in analysis.subjects
        )
