import math

import pytest

from benchmarks.analysis.machine_models import Basis, ModelEffect, Weight
from benchmarks.evidence.model_results import ModelResult, model_result
from benchmarks.models import Cell, Host
from dashboard.wording.machine_models import model_result_text

FACTS = {
    "cpu": "Xeon 8259CL",
    "threads": 96,
    "provider": "AWS",
    "machine_model": "m5 96 CPUs",
}
WORK = {
    "metric": "bogo op rate",
    "parameters": {"stressor": "cpu", "instances": 96},
    "unit": "1/s",
}


@pytest.fixture
def measured(submit, run_document, xen, lab):
    """Measure native machines and guests of one model; return the last guest's cell."""

    def measure(natives, guests, **facts):
        for side, values in (("native", natives), ("xen", guests)):
            for index, value in enumerate(values):
                slug = f"{side}-{index}"
                Host.objects.create(lab=lab, slug=slug, facts=FACTS | facts)
                system = {"host": slug}
                if side == "xen":
                    system |= {**xen, "vcpus": 96}
                samples = [{**WORK, "value": value}]
                document = run_document(
                    tool="stress-ng", samples=samples, system=system
                )
                submit(document)
        return Cell.objects.filter(system__hypervisor="Xen").latest("pk")

    return measure


def test_the_effect_of_a_model_counts_machines_of_both_sides(measured):
    found = model_result(measured([100.0, 101.0, 99.0], [90.0, 91.0, 89.0, 90.0]))

    effect = found.effect
    assert (effect.model, effect.native_count, effect.guest_count) == (
        "m5 96 CPUs",
        3,
        4,
    )
    assert (effect.basis, effect.weight) == (Basis.WELCH, Weight.INDICATIVE)
    assert math.exp(effect.log_ratio) == pytest.approx(0.9, rel=0.001)
    assert (found.provider, found.most_runs) == ("AWS", 1)
    text = model_result_text(found, 0.02)
    assert "3 native, 4 with the hypervisor, one run each" in text
    assert "Indicative: slower" in text


def test_a_result_of_one_machine_has_no_model(submit, run_document, xen):
    submit(run_document(50.0), run_document(45.0, system=xen))

    assert model_result(Cell.objects.get(system__hypervisor="Xen")) is None


@pytest.mark.parametrize(
    ("interval", "weight", "is_flagged", "text"),
    [
        ((-0.1, -0.05), Weight.VERDICT, False, "Verdict for this model: slower."),
        ((-0.1, -0.05), Weight.VERDICT, True, "Indicative: slower"),
        ((-0.1, 0.05), Weight.VERDICT, False, "crosses an equivalence margin"),
        (None, Weight.SHOWN, False, "needs at least 3 machines"),
    ],
)
def test_only_five_machines_give_a_verdict_for_a_model(
    interval, weight, is_flagged, text
):
    effect = ModelEffect("m", 5, 5, (-0.07,), -0.07, interval, Basis.WELCH, weight)

    assert text in model_result_text(ModelResult(effect, "AWS", 2, is_flagged), 0.02)
