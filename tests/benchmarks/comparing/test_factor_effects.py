"""Which parameters moved a study's efficiencies, read from its cells."""

import itertools

import pytest

from benchmarks.comparing.factor_effects import study_effects
from benchmarks.models import Efficiency, Study
from benchmarks.reference.documents import reference_study
from benchmarks.studies import checking
from benchmarks.viewer import ANYONE, Viewer

ESXI = {"hypervisor": "ESXi", "virtualization": "full"}


@pytest.fixture
def factorial(submit, run_document):
    """Tools double the throughput, AMD-V does nothing; one native run."""
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
    """The single runs of the ESXi study, as every installation has them."""
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


def test_it_finds_what_moved_a_case(factorial, study):
    answer = study_effects(ANYONE, study)

    (network,) = answer.components
    (case,) = network.cases
    effects = named(case.found)
    assert (answer.scenario, answer.response) == ("single", "efficiency")
    assert (network.component, case.found.kind) == ("network", "contrasts")
    assert effects["guest_tools"].strength == "clear"
    assert effects["guest_tools"].factor == pytest.approx(2, rel=0.02)
    assert effects["hw_virt"].strength == "none"
    assert named(network.whole.found).keys() == effects.keys()


def test_native_machines_are_no_part_of_the_design(factorial, study):
    (network,) = study_effects(ANYONE, study).components

    assert network.whole.found.cells == 8
    assert {names for each in network.whole.found.factors for names in each.names} == {
        *("guest_tools", "hw_virt", "vcpus"),
    }


def test_a_study_of_machines_alone_compares_their_values(submit, run_document, lab):
    lab.hosts.create(slug="beta")
    for host, values in (("alpha", (90, 91, 92)), ("beta", (60, 61, 62))):
        submit(*(run_document(value, system={"host": host}) for value in values))

    answer = study_effects(ANYONE, Study.objects.get())

    (network,) = answer.components
    (effect,) = network.whole.found.effects
    assert (answer.response, network.whole.found.kind) == ("value", "replicated")
    assert effect.factor == pytest.approx(61 / 91)
    assert effect.strength == "clear"


@pytest.mark.parametrize(
    ("xen_day", "are_apart", "strength"),
    [(2, False, "clear"), (3, True, "possible")],
)
def test_a_guest_on_another_day_than_its_baseline_differs_by_that_day_perhaps(
    submit, run_document, xen, xen_day, are_apart, strength
):
    """Two guests 10 % apart: both beside the native runs of their day, or one not."""
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

    (network,) = study_effects(ANYONE, Study.objects.get()).components

    (effect,) = network.whole.found.effects
    assert network.whole.found.kind == "replicated"
    assert network.whole.found.are_days_apart is are_apart
    assert (effect.factor, effect.strength) == (pytest.approx(1.1, rel=1e-3), strength)


def test_a_value_is_compared_when_asked_for(factorial, study):
    answer = study_effects(ANYONE, study, response="value")

    effects = named(answer.components[0].whole.found)
    assert effects["guest_tools"].factor == pytest.approx(2, rel=0.02)
    assert effects["guest_tools"].baseline_share == 0


def test_cells_without_an_efficiency_are_counted(factorial, study):
    Efficiency.objects.filter(cell__system__vcpus=2).update(ratio=None)

    (network,) = study_effects(ANYONE, study).components

    assert network.whole.left_out == {"no_ratio": 4}
    assert (network.whole.found.cells, network.whole.found.kind) == (4, "unjudged")


def test_what_does_not_exist_is_an_empty_answer(factorial, study):
    assert study_effects(ANYONE, study, component="disk").components == ()
    assert study_effects(ANYONE, study, scenario="parallel").components == ()


def test_an_empty_study_has_no_scenario(study):
    answer = study_effects(ANYONE, study)

    assert (answer.scenario, answer.components) == ("", ())


def test_a_private_study_is_seen_by_its_lab_only(
    submit, run_document, private_study, lab
):
    submit(run_document(study=private_study.slug))

    assert study_effects(ANYONE, private_study).components == ()
    assert study_effects(Viewer(frozenset({lab.pk})), private_study).components


def test_it_costs_a_fixed_number_of_queries(
    factorial, study, django_assert_num_queries
):
    with django_assert_num_queries(5):
        study_effects(ANYONE, study)


def test_it_gives_the_esxi_studys_answer(esxi_study):
    """CPU: nothing. Network: tools, bits and OS. Disk: OS, with AMD-V and tools."""
    answer = study_effects(ANYONE, esxi_study)

    clear = {
        each.component: {
            name
            for name, effect in named(each.whole.found).items()
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
    network = named(answer.components[3].whole.found)
    assert round(network["guest_tools"].factor, 2) == 1.37


def test_a_misprinted_native_value_is_left_out_and_counted(esxi_study):
    """Native RAM reads on Ubuntu were printed a thousand times too large."""
    answer = study_effects(ANYONE, esxi_study, component="memory")

    (memory,) = answer.components
    assert memory.whole.left_out == {"implausible": 8}
    assert len(memory.whole.subjects) == 5
    assert memory.whole.found.cells == 16


def is_share(case: str) -> bool:
    return case.startswith("CPU utilization")


def test_shares_of_processor_time_have_no_effect(load_study):
    """Of native's, a guest's own share was 15.765 once, and moved by x 36.9."""
    study = load_study("lmu-2010-xen", lambda run: run["tool"] == "iometer")

    for response in ("efficiency", "value"):
        answer = study_effects(ANYONE, study, scenario="single", response=response)
        analyses = [it for each in answer.components for it in each.cases]
        shares = [it for it in analyses if is_share(it.subjects[0].case)]

        assert shares
        assert {len(it.observations) for it in shares} == {0}
        assert {reason for it in shares for reason in it.left_out} == {"no_speed"}
        wholes = [each.whole for each in answer.components if each.whole]
        assert not any(is_share(it.case) for whole in wholes for it in whole.subjects)
