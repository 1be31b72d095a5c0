from tests.benchmarks.plausibility.cast import cell, findings

GUEST = {"is_native": False, "hypervisor": "Xen", "guest_os": "Debian"}


def single(system, **facts):
    return cell(50.0, **{"system": system, **GUEST, **facts})


def together(system, **facts):
    place = {"scenario": "parallel", "vms": 2, "slot": "1"}
    return cell(25.0, **{"system": system, **place, **GUEST, **facts})


def differences(*cells):
    doubts = findings("corun-reference", *cells)
    return [finding.evidence["differs"] for finding in doubts]


def test_a_co_run_of_another_memory_has_no_reference():
    cells = [single("a", memory_bytes=2**30), together("b", memory_bytes=2**29)]

    assert differences(*cells) == [{"memory_bytes": [str(2**29), str(2**30)]}]


def test_a_co_run_of_a_system_measured_alone_has_one():
    assert differences(single("a"), together("a"), single("b")) == []


def test_options_that_are_not_stated_are_named():
    cells = [single("a", options={"hw_virt": "on"}), together("b")]

    assert differences(*cells) == [{"hw_virt": ["not stated", "on"]}]


def test_all_cells_of_a_pair_of_systems_are_one_flag():
    alone = [single("a", case=case, vcpus=1) for case in ("read", "write")]
    slots = [together("b", case=case, vcpus=2) for case in ("read", "write")]

    [finding] = findings("corun-reference", *alone, *slots)

    assert len(finding.subjects) == 2


def test_another_parameter_than_alone_is_another_test():
    alone = single("a", case="n=2000", parameters={"n": "2000"})
    slot = together("a", case="n=4000", parameters={"n": "4000"})

    assert differences(alone, slot) == [{"n": ["4000", "2000"]}]


def test_without_any_single_run_nothing_is_contradicted():
    assert differences(together("a"), together("b")) == []
    assert differences(cell(50.0), together("b", host="beta")) == []
