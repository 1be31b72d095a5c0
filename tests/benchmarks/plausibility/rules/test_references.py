from tests.benchmarks.plausibility.small_studies import cell, findings

GUEST = {"is_native": False, "hypervisor": "Xen", "guest_os": "Debian"}


def single(system, **facts):
    return cell(50.0, **{"system": system, **GUEST, **facts})


def together(system, **facts):
    circumstances = {"scenario": "parallel", "vms": 2, "slot": "1"}
    return cell(25.0, **{"system": system, **circumstances, **GUEST, **facts})


def differences(*cells):
    flagged = findings("corun-reference", *cells)
    return [finding.evidence["differs"] for finding in flagged]


def test_a_corun_with_another_memory_size_has_no_reference():
    cells = [single("a", memory_bytes=2**30), together("b", memory_bytes=2**29)]

    assert differences(*cells) == [{"memory_bytes": [str(2**29), str(2**30)]}]


def test_a_corun_of_a_system_with_single_runs_has_a_reference():
    assert differences(single("a"), together("a"), single("b")) == []


def test_unreported_options_are_named():
    cells = [single("a", options={"hw_virt": "on"}), together("b")]

    assert differences(*cells) == [{"hw_virt": ["not reported", "on"]}]


def test_all_cells_of_a_pair_of_systems_are_one_flag():
    singles = [single("a", case=case, vcpus=1) for case in ("read", "write")]
    slots = [together("b", case=case, vcpus=2) for case in ("read", "write")]

    [finding] = findings("corun-reference", *singles, *slots)

    assert len(finding.subjects) == 2


def test_another_parameter_than_the_single_run_is_another_test():
    reference = single("a", case="n=2000", parameters={"n": "2000"})
    slot = together("a", case="n=4000", parameters={"n": "4000"})

    assert differences(reference, slot) == [{"n": ["4000", "2000"]}]


def test_without_single_runs_nothing_is_flagged():
    assert differences(together("a"), together("b")) == []
    assert differences(cell(50.0), together("b", host="beta")) == []
