import pytest

from tests.benchmarks.plausibility.small_studies import cell, findings

CASES = {
    "primes": ("CPU", {"threads": "1"}),
    "matrix": ("CPU", {"threads": "1"}),
    "copy": ("memory", {}),
    "read": ("memory", {}),
}
TCG = (0.14, 0.04, 0.21, 0.02)
"""What QEMU without KVM reached on the machine of shared/outputs/bench-matrix."""


def guest(ratios, *, parameters=None, better="higher", **facts):
    for (case, (component, own)), ratio in zip(CASES.items(), ratios, strict=False):
        both = {
            **{"case": case, "component": component, "tool": "sysbench"},
            **{"metric": "rate", "unit": "1/s", "better": better},
            **{"parameters": parameters or own},
        }
        native = cell(1000.0, **both)
        yield native
        yield cell(
            1000 * ratio if better == "higher" else 1000 / ratio,
            **{**both, "system": "kvm", "hypervisor": "KVM", "baseline": native.id}
            | facts,
        )


def flagged(*ratios, **facts):
    return findings("emulation-speed", *guest(ratios, **facts))


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_a_kvm_as_slow_as_emulation_is_flagged(better):
    [finding] = flagged(*TCG, better=better)

    assert (finding.severity, len(finding.subjects)) == ("implausible", 4)
    assert finding.evidence["hypervisor"] == "KVM"
    assert finding.evidence["median"] == pytest.approx(0.09, abs=0.001)


@pytest.mark.parametrize(
    "ratios",
    [
        (0.97, 0.99, 0.62, 0.95),
        (0.45, 0.98, 0.58, 0.60),  # LINPACK with a hidden topology
        (0.99, 1.0, 0.002, 0.002),  # a native RAM result in another unit
        (0.12, 0.95, 0.97, 0.98),  # one slow case
        (0.14, 0.04, 0.96, 0.97),  # slow CPU and fast memory, unlike any processor
        (0.14,),
        (0.001, 0.00098),  # milliseconds instead of seconds
        (0.0995, 0.098, 0.1, 0.096),  # a lost decimal point in all cases
    ],
)
def test_a_guest_on_the_real_processor_is_not_flagged(ratios):
    assert flagged(*ratios) == []


@pytest.mark.parametrize(
    "facts",
    [
        {"hypervisor": "QEMU TCG"},
        {"hypervisor": "QEMU", "hypervisor_version": "TCG, no KVM"},
        {"virtualization": "emulation"},
        {"options": {"layers": "qemu-tcg > kvm"}},
        {"is_emulated": True},
        {"virtualization": "container"},
        {"scenario": "parallel"},
        {"load": "LINPACK in two others"},
        {"component": "disk"},
    ],
)
def test_declared_emulation_and_parallel_cases_are_not_flagged(facts):
    assert flagged(*TCG, **facts) == []


def test_fewer_virtual_cpus_than_threads_explain_the_speed():
    eight = {"parameters": {"threads": "8"}}

    assert flagged(0.125, 0.12, 0.13, 0.2, vcpus=1, **eight) == []
    assert len(flagged(0.01, 0.02, 0.02, 0.03, vcpus=1, **eight)) == 1
    assert len(flagged(*TCG, vcpus=8, **eight)) == 1


def test_unknown_virtual_cpus_make_it_a_check():
    [finding] = flagged(*TCG, parameters={"threads": "8"})

    assert finding.severity == "check"
    assert "not reported" in finding.sentence


def test_a_speed_below_that_of_a_single_cpu_is_implausible():
    [finding] = flagged(0.03, 0.02, 0.02, 0.01, parameters={"threads": "8"})

    assert finding.severity == "implausible"
    assert "not reported" not in finding.sentence


def test_tools_that_use_all_cpus_need_their_number():
    kvm = {"parameters": {"n": "45000"}, "tool": "intel-linpack"}

    assert [finding.severity for finding in flagged(*TCG, **kvm)] == ["check"]
    assert flagged(*TCG, **kvm, host_cores=16, vcpus=1) == []
    assert len(flagged(*TCG, **kvm, host_cores=16, vcpus=16)) == 1


def test_system_calls_and_monitors_are_not_compute_bound():
    assert flagged(*TCG, tool="hackbench") == []
