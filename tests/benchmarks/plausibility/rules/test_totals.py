import numpy as np
import pytest

from tests.benchmarks.plausibility.small_studies import cell, findings

NPB = {"tool": "npb", "component": "CPU", "unit": "s", "better": "lower"}


def system(name, **times):
    for part, mean in times.items():
        yield cell(
            mean,
            system=name,
            case=part,
            metric=f"{part} time",
            parameters={"operation": part},
            **NPB,
        )


def whole(name):
    return system(name, TOTAL=5400.0, CG=140.0, DC=450.0)


def test_a_total_without_one_of_its_parts_is_found():
    others = [member for name in "abc" for member in whole(name)]
    short = list(system("d", TOTAL=4950.0, CG=140.0))

    [finding] = findings("total-of-fewer-parts", *others, *short)

    assert [subject.id for subject in finding.subjects] == [short[0].id]
    assert finding.evidence["missing"] == ["DC"]


def test_a_part_that_was_not_printed_does_not_change_the_total():
    others = [member for name in "abc" for member in whole(name)]

    assert not findings(
        "total-of-fewer-parts", *others, *system("d", TOTAL=5390.0, CG=140.0)
    )


def summaries(counts):
    rng = np.random.default_rng(3)
    for number, count in enumerate(counts):
        mean = float(rng.uniform(2e4, 8e4))
        yield cell(mean, mean * 0.05, count, case=f"load {number}")


def test_mean_deviation_and_number_uploaded_as_runs_are_found():
    [finding] = findings("summary-as-runs", *summaries([30.0] * 4))

    assert finding.evidence["count"] == 30
    assert len(finding.subjects) == 4


@pytest.mark.parametrize("counts", [[30.0] * 2, [30.0, 28.0, 30.0], [30.5] * 4])
def test_few_or_different_last_values_are_runs(counts):
    assert not findings("summary-as-runs", *summaries(counts))


def test_three_similar_runs_are_runs():
    cells = [cell(2800.0 + i, 2810.0, 2800.0, case=f"case {i}") for i in range(5)]

    assert not findings("summary-as-runs", *cells)
