"""A chosen system to compare with, instead of the native machine."""

from benchmarks.comparing.comparisons import compared_cells, comparison_row
from benchmarks.comparing.references import Reference
from benchmarks.models import System
from benchmarks.viewer import ANYONE


def test_any_system_can_be_the_reference(submit, run_document, xen, study):
    esxi = {"hypervisor": "ESXi", "virtualization": "full"}
    submit(run_document(20.0, system=xen), run_document(30.0, system=esxi))
    reference = Reference.of(study, System.objects.get(hypervisor="Xen"))

    by_state = {
        row.state: row
        for row in (comparison_row(c, reference) for c in compared_cells(ANYONE))
    }

    assert by_state["reference"].relative is None
    against = by_state["relative"]
    assert (against.relative, against.efficiency) == (1.5, None)
