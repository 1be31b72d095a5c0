import json
from pathlib import Path

import pytest

from benchmarks import tools, units
from benchmarks.errors import ParseError
from benchmarks.fingerprints import canonical_parameters
from tests.benchmarks.plausibility.small_studies import findings, run, sample
from tests.for_each import for_each

DATA = Path(__file__).parents[3] / "data"

OLTP = {
    "total time": (263.8062, "s"),
    "transactions": (1000.0, ""),
    "transaction rate": (3.79, "1/s"),
    "read/write requests": (1308379.0, ""),
    "read/write request rate": (4959.62, "1/s"),
    "request latency min": (2777.06, "ms"),
    "request latency mean": (98664.81, "ms"),
    "request latency max": (263749.92, "ms"),
}
SOLVED = {"time": (18.362, "s"), "performance": (290.4959, "Gflop/s")}
IOPS = {"disk throughput": (62.399, "MB/s"), "IOps": (15234.1, "1/s")}
WEB = {"requests": (60.0, ""), "replies": (60.0, ""), "test duration": (560.0, "s")}
METER = {
    "energy": (65529.8, "J"),
    "meter time": (666.84, "s"),
    "power mean": (98.27, "W"),
    "power max": (101.3, "W"),
}
TOTALS = {
    "queries": (160.0, ""),
    "read/write requests": (140.0, ""),
    "other operations": (20.0, ""),
}
DISK = {"rate": (40.972, "MiB/s"), "time": (117.2, "s")}
FIO = {"throughput": (70912.0, "KiB/s"), "IOPS": (1108.0, "1/s")}

CASES = {
    "sysbench": (OLTP, {"threads": "400", "test": "oltp"}),
    "intel-linpack": (SOLVED, {"n": "20000"}),
    "iometer": (IOPS, {"block_size": "4096 B"}),
    "httperf": (WEB, {}),
    "watts-up": (METER, {}),
    "tiotest": (DISK, {"size": "5033164800 B"}),
    "fio": (FIO, {"block": "64 KiB"}),
}


def violated(tool, readings, parameters):
    samples = tuple(
        sample(metric, value, unit, parameters=parameters, cell=metric)
        for metric, (value, unit) in readings.items()
    )
    return findings("identity-violated", run(tool, samples))


@pytest.mark.parametrize("tool", CASES)
def test_consistent_numbers_are_not_flagged(tool):
    assert violated(tool, *CASES[tool]) == []


@pytest.mark.parametrize(
    ("tool", "metric", "value"),
    [
        ("sysbench", "transaction rate", 4.19),
        ("sysbench", "total time", 212.3),
        ("sysbench", "request latency mean", 131000.0),
        ("sysbench", "request latency mean", 51000.0),
        ("sysbench", "request latency max", 97000.0),
        ("sysbench", "request latency min", 99000.0),
        ("intel-linpack", "performance", 261.4),
        ("intel-linpack", "time", 20.3),
        ("iometer", "IOps", 13700.0),
        ("httperf", "replies", 61.0),
        ("watts-up", "power mean", 92.0),
        ("watts-up", "power max", 91.0),
        ("tiotest", "time", 105.0),
        ("fio", "throughput", 64.0),
    ],
)
def test_a_changed_number_contradicts_the_others(tool, metric, value):
    readings, parameters = CASES[tool]
    changed = {**readings, metric: (value, readings[metric][1])}

    found_contradictions = violated(tool, changed, parameters)

    assert found_contradictions
    assert all(finding.severity == "impossible" for finding in found_contradictions)
    assert metric in {
        subject.id for one in found_contradictions for subject in one.subjects
    }


@pytest.mark.parametrize(("p95", "is_doubted"), [(132.3, False), (134.0, True)])
def test_sysbench_buckets_let_a_percentile_exceed_the_maximum(p95, is_doubted):
    latencies = {
        "request latency p95": (p95, "ms"),
        "request latency max": (131.12, "ms"),
    }

    assert bool(violated("sysbench", latencies, {})) == is_doubted
    assert violated("wrk", latencies, {})


def test_read_write_and_other_add_up_to_the_total():
    assert violated("sysbench", TOTALS, {}) == []
    assert len(violated("sysbench", {**TOTALS, "queries": (161.0, "")}, {})) == 1


def test_coarse_numbers_are_rounded():
    rate = {"requests": (60.0, ""), "request rate": (0.1, "1/s")}

    assert violated("httperf", {**WEB, **rate}, {}) == []


def test_readings_with_other_parameters_are_not_mixed():
    first = sample("performance", 290.0, "Gflop/s", parameters={"n": "20000"})
    second = sample("time", 0.003, "s", parameters={"n": "1000"})

    assert findings("identity-violated", run("intel-linpack", (first, second))) == []


def saved_outputs():
    for tool in tools.TOOLS.values():
        for path in sorted((DATA / tool.slug).glob("*")) if tool.parse else ():
            if not (path.suffix == ".json" and path.with_suffix(".txt").exists()):
                yield tool.slug, path


@for_each(("slug", "path"), saved_outputs())
def test_real_outputs_of_the_tools_are_not_flagged(slug, path):
    try:
        text = path.read_bytes().decode("utf-8", "replace")
        parsed = tools.TOOLS[slug].parse(text)
    except ParseError:
        return
    runs = [run(slug, tuple(map(_sample, result.readings))) for result in parsed]

    contradictions = findings("identity-violated", *runs)

    assert [json.dumps(finding.evidence) for finding in contradictions] == []


def _sample(reading):
    units.get_unit(reading.unit)
    return sample(
        reading.metric,
        reading.value,
        reading.unit,
        parameters=canonical_parameters(reading.parameters),
        repetition=reading.repetition,
    )
