import pytest

from tests.benchmarks.plausibility.small_studies import cell, findings, run, sample


def built(system, case="read", **facts):
    """Return a cell and its run."""
    result = cell(100.0, system=system, system_label=system, case=case)
    version = facts.pop("tool_version", "")
    own = run(
        samples=[sample("bandwidth", 100.0, cell=result.id)],
        system=system,
        tool_version=version,
        facts=facts,
    )
    return result, own


@pytest.mark.parametrize("fact", ["compiler", "server", "tool_version", "cflags"])
def test_other_builds_of_a_tool_are_found(fact):
    native = built("native", **{fact: "gcc -O3"})
    guest = built("docker", **{fact: "gcc -O1 -static"})

    [finding] = findings("build-differs", *native, *guest)

    assert {subject.id for subject in finding.subjects} == {native[0].id, guest[0].id}
    assert finding.evidence["builds"] == ["gcc -O1 -static", "gcc -O3"]


def test_equal_unknown_and_unrelated_builds_are_correct():
    native = built("native", compiler="gcc -O3")

    assert not findings("build-differs", *native, *built("vm", compiler="gcc -O3"))
    assert not findings("build-differs", *native, *built("vm"))
    assert not findings(
        "build-differs", *native, *built("vm", compiler="clang", case="write")
    )
    assert not findings("build-differs", *native, *built("vm", kernel="5.4"))
