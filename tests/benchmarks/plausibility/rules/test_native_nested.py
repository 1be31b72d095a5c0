import pytest

from benchmarks.hypervisor_names import VBS_FACT as FACT
from benchmarks.plausibility.findings import unique_subjects
from tests.benchmarks.plausibility.small_studies import findings, run

RULE = "native-above-hypervisor"


@pytest.mark.parametrize("state", ["running", "running, with the Hyper-V role"])
def test_a_native_windows_on_its_hypervisor_is_one_flag(state):
    runs = [run(is_native=True, facts={FACT: state}) for _ in range(3)]

    [finding] = findings(RULE, *runs, run(is_native=True))

    assert finding.subjects == unique_subjects("run", [each.id for each in runs])
    assert f"(VBS: {state}) in 3 runs." in finding.sentence


@pytest.mark.parametrize("state", ["off", "set, not running", 1, True])
def test_a_windows_without_hypervisor_is_not_flagged(state):
    assert findings(RULE, run(is_native=True, facts={FACT: state})) == []


def test_a_guest_is_not_flagged():
    assert findings(RULE, run(is_native=False, facts={FACT: "running"})) == []
