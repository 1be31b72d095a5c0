from tests.benchmarks.plausibility.small_studies import cell, findings

PGBENCH = {
    **{"tool": "pgbench", "metric": "transaction rate", "unit": "1/s"},
    **{"component": "application"},
}


def pair(case, factor):
    runs = [100.0, 101.0, 99.5, 100.3]
    reference = cell(*runs, system="v1", case=case, **PGBENCH)
    changed = (run * factor for run in runs)
    return [
        reference,
        cell(*changed, system="v5", case=case, baseline=reference.id, **PGBENCH),
    ]


def test_a_setting_that_helps_one_workload_and_harms_another_is_found():
    [finding] = findings(
        "opposite-effects", *pair("buffer", 1.26), *pair("disk", 0.41), *pair("ram", 1)
    )

    assert len(finding.subjects) == 2
    assert min(finding.evidence["ratios"]) < 0.5 < 1.2 < max(finding.evidence["ratios"])


def test_small_and_equal_directions_are_not_flagged():
    assert not findings("opposite-effects", *pair("buffer", 1.26), *pair("disk", 0.95))
    assert not findings("opposite-effects", *pair("buffer", 1.26), *pair("disk", 1.5))
