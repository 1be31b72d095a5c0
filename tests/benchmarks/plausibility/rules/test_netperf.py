from tests.benchmarks.plausibility.small_studies import findings, run, sample


def path(rate, share, demand, to="node6", unit="MiB/s"):
    parameters = {"from": "vm3", "to": to}
    readings = [
        ("throughput", rate, unit),
        ("CPU utilization remote", share, "%"),
        ("service demand remote", demand, "us/KB"),
    ]
    return run(samples=tuple(sample(*r, parameters=parameters) for r in readings))


def found(*runs):
    return findings("netperf-service-demand", *runs)


def test_service_demand_implies_two_cpus():
    assert found(path(112.19, 49.68, 8.65)) == []


def test_a_number_that_implies_no_whole_cpus_is_impossible():
    [finding] = found(path(112.19, 49.68, 6.5))

    assert finding.severity == "impossible"
    assert 1.49 < finding.evidence["implied_cpus"] < 1.52


def test_megabytes_that_are_mebibytes_are_one_flag():
    runs = [
        path(112.19, 49.68, 8.65, unit="MB/s"),
        path(29.41, 10.68, 7.09, unit="MB/s"),
    ]

    [finding] = found(*runs)

    assert "2 runs is in MiB/s" in finding.sentence


def test_a_run_that_implies_another_machine_is_flagged():
    two_cpus = [path(112.19, 49.68, 8.65, "node7") for _ in range(4)]

    [finding] = found(*two_cpus, path(293.56, 99.95, 3.325, "node7"))

    assert finding.evidence == {"implied_cpus": 1, "elsewhere": 2, "place": "node7"}


def test_small_utilizations_are_rounded_too_much():
    assert found(path(1.68, 0.04, 0.246)) == []


def test_a_run_without_a_measured_cpu_is_not_flagged():
    assert found(run(samples=(sample("throughput", 112.0, "MB/s"),))) == []
