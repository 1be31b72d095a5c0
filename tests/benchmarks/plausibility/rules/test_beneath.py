import pytest

from benchmarks.platforms import BENEATH as FACT
from benchmarks.plausibility.findings import subjects
from tests.benchmarks.plausibility.cast import findings, run

RULE = "native-above-hypervisor"


@pytest.mark.parametrize("state", ["running", "running, with the Hyper-V role"])
def test_a_native_windows_above_its_hypervisor_is_one_flag(state):
    runs = [run(is_native=True, facts={FACT: state}) for _ in range(3)]

    [finding] = findings(RULE, *runs, run(is_native=True))

    assert finding.subjects == subjects("run", [each.id for each in runs])
    assert f"(VBS: {state}) in 3 runs." in finding.sentence


@pytest.mark.parametrize("state", ["off", "set, not running", 1, True])
def test_a_windows_without_one_is_silent(state):
    assert findings(RULE, run(is_native=True, facts={FACT: state})) == []


def test_a_guest_is_silent_for_it_is_called_one():
    assert findings(RULE, run(is_native=False, facts={FACT: "running"})) == []
