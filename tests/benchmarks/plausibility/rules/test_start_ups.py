from tests.benchmarks.plausibility.small_studies import cell, findings

BOOT = {
    **{"tool": "boot-timer", "metric": "boot time", "component": "application"},
    **{"unit": "ms", "better": "lower", "case_label": "boot time"},
}
QEMU = {"hypervisor": "QEMU", "virtualization": "full", **BOOT}


def test_start_ups_of_containers_and_machines_are_different_jobs():
    docker = cell(230, system="docker", hypervisor="Docker", **BOOT)
    machine = cell(8470, system="vm", **QEMU)

    [finding] = findings("start-ups-differ", docker, machine)

    assert len(finding.subjects) == 2
    assert not findings("start-ups-differ", machine, cell(500, system="b", **QEMU))


def test_a_microvm_slower_than_its_full_machine_is_found():
    full = cell(244, 246, 245, system="full", **QEMU)
    lean = {**QEMU, "options": {"machine": "microvm"}}
    slow = cell(583, 584, 582, system="lean", **lean)

    [finding] = findings("lean-machine-slower", full, slow)

    assert finding.subjects[0].id == slow.id
    assert not findings("lean-machine-slower", full, cell(120, system="x", **lean))
    assert not findings("lean-machine-slower", full, cell(255, system="x", **lean))
    other = {**lean, "hypervisor": "Firecracker"}
    assert not findings("lean-machine-slower", full, cell(583, system="x", **other))
