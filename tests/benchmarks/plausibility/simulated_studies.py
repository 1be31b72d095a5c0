"""Clean simulated studies without mistakes.

They have native and one to six virtual machines on one host; CPU, memory, disk and
network; block size curves; guests that reach a twentieth of the native network; quiet
and noisy runs, some with heavy tails, one to ten of them; values printed with two
decimals, three significant digits or all digits; co-runs with sums, meters, and tools
with consistent numbers.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.random import Generator

from benchmarks.plausibility.study_facts import (
    Better,
    CellFact,
    RunFact,
    SampleFact,
    StudyFacts,
)

Speeds = dict[str, dict[str, float]]

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
NOISE = {"CPU": 0.02, "memory": 0.03, "disk": 0.10, "network": 0.05}
EFFICIENCY = {
    "CPU": (0.93, 1.0),
    "memory": (0.85, 1.0),
    "disk": (0.3, 1.05),
    "network": (0.05, 1.05),
}
UNEVEN = {"CPU": 0.005, "memory": 0.01, "disk": 0.1, "network": 0.08}
LINE_RATE_BIT_PER_S = 1e9


@dataclass(frozen=True)
class Test:
    """One case: what the native machine reads in truth, and how."""

    component: str
    tool: str
    metric: str
    case: str
    native: float
    parameters: dict[str, str]
    unit: str = "MB/s"
    better: Better = "higher"
    clock: str = "guest"


@dataclass(frozen=True)
class Style:
    """How a study was measured and printed."""

    n: int
    noise: dict[str, float]
    heavy: bool
    printed: str


def clean_study(seed: int) -> StudyFacts:
    """Return one study without any mistake."""
    rng = np.random.default_rng(seed)
    tests = _tests(rng)
    scale = rng.uniform(0.15, 1.0)
    style = Style(
        n=int(rng.choice([1, 1, 2, 3, 5, 10])),
        noise={name: cv * scale for name, cv in NOISE.items()},
        heavy=bool(rng.random() < 0.3),
        printed=str(rng.choice(["decimals", "digits", "all"])),
    )
    systems = ["native", *(f"vm-{i}" for i in range(1, rng.integers(2, 8)))]
    speeds = {system: _speeds(rng, system, tests) for system in systems}
    cells = [
        _cell(rng, style, system, test, speeds[system][test.case])
        for system in systems
        for test in tests
    ]
    # CPU utilization during the network test, one cell per system.
    utilization = Test(
        "network", "iperf3", "CPU utilization local", "share", 0.0, {}, "%", "lower"
    )
    for system in systems:
        truth = rng.uniform(2, 12) if system == "native" else rng.uniform(5, 85)
        cells.append(_cell(rng, style, system, utilization, truth))
    cells += _together(rng, style, tests, speeds)
    # Of tools whose numbers depend on each other, of meters and of co-runs.
    runs = []
    for system in systems:
        runs += [_netperf(rng, system), _sysbench(rng, system), _linpack(rng, system)]
        runs += [*_metered(rng, system), *_corun(rng, system)]
    # Times of measurement change no number: they have their own random stream.
    dated = _with_days(np.random.default_rng([seed, 2]), cells)
    study = StudyFacts(id="here", cells=tuple(dated), runs=tuple(runs))
    return replace(study, cells=tuple(with_baselines(study.cells)))


def _tests(rng: Generator) -> list[Test]:
    sizes = ["4k", "8k", "16k", "64k", "256k", "1M", "4M"][: rng.integers(1, 8)]
    tests = []
    facts: Any = {"unit": "s", "better": "lower", "clock": "external"}
    for n in (1000, 2000, 4000)[: rng.integers(1, 4)]:
        time_s, parameters = 20 * (n / 2000) ** 3, {"n": str(n)}
        tests.append(
            Test("CPU", "linpack", "time", f"n={n}", time_s, parameters, **facts)
        )
    for level, base in (("RAM", 2800), ("L1", 18000), ("L2", 6500))[
        : rng.integers(1, 4)
    ]:
        for way in ("read", "write"):
            native, case = base * rng.uniform(0.8, 1.3), f"{way} {level}"
            parameters = {"level": level, "operation": way}
            tests.append(
                Test("memory", "ramspeed", "bandwidth", case, native, parameters)
            )
    return [
        *tests,
        *_disk_curve(rng, "read", 110, sizes),
        *_disk_curve(rng, "write", 80, sizes),
        *_network_curve("send", 90, sizes[: rng.integers(1, len(sizes) + 1)]),
        *_network_curve("receive", 105, sizes[: rng.integers(1, len(sizes) + 1)]),
    ]


def _disk_curve(
    rng: Generator, way: str, top: float, sizes: list[str]
) -> Iterator[Test]:
    steepness = rng.uniform(0.2, 0.8)
    for step, size in enumerate(sizes):
        native = top / (1 + np.exp(2 - steepness * 2 * step))
        case, parameters = f"disk {way} {size}", {"record": size, "operation": way}
        yield Test("disk", "iozone", "throughput", case, native, parameters)


def _network_curve(way: str, top: float, sizes: list[str]) -> Iterator[Test]:
    for step, size in enumerate(sizes):
        native = top * (1 - 0.7 ** (step + 1.5))
        case, parameters = f"net {way} {size}", {"message": size, "operation": way}
        facts: Any = {"clock": "client"}
        yield Test("network", "iperf3", "throughput", case, native, parameters, **facts)


def _speeds(rng: Generator, system: str, tests: list[Test]) -> dict[str, float]:
    """Return the true value of each case on a system."""
    if system == "native":
        return {test.case: test.native for test in tests}
    overall = {name: rng.uniform(*span) for name, span in EFFICIENCY.items()}
    speeds = {}
    for test in tests:
        uneven = np.exp(rng.normal(0, UNEVEN[test.component]))
        maximum = 1.0 if test.component in {"CPU", "memory"} else 1.05
        efficiency = min(overall[test.component] * uneven, maximum)
        faster = test.better == "higher"
        speeds[test.case] = test.native * (efficiency if faster else 1 / efficiency)
    return speeds


def printed(style: Style, value: float) -> float:
    """Return a value as the study's table prints it."""
    if style.printed == "decimals":
        return float(f"{value:.2f}")
    return float(f"{value:.3g}") if style.printed == "digits" else float(value)


def readings(
    rng: Generator, style: Style, component: str, truth: float, n: int
) -> tuple[float, ...]:
    """Return run means around the truth: lognormal, in every third study with heavy
    tails.
    """
    cv = style.noise[component]
    # Four degrees of freedom have variance 2.
    scatter = rng.standard_t(4, n) / np.sqrt(2) if style.heavy else rng.normal(0, 1, n)
    return tuple(
        printed(style, truth * np.exp(cv * deviation)) for deviation in scatter
    )


def _cell(
    rng: Generator, style: Style, system: str, test: Test, truth: float, **place: Any
) -> CellFact:
    n = place.pop("n", style.n)
    means = place.pop("means", None) or readings(rng, style, test.component, truth, n)
    if test.component == "network":
        # The rate of TCP over a line of 1 Gbit/s, in MB/s.
        means = tuple(min(mean, printed(style, 117.6)) for mean in means)
    slot = f"/{place['vms']}/{place['slot']}" if place else ""
    return CellFact(
        id=f"{system}/{test.case}{slot}",
        study="here",
        study_label="here",
        host="alpha",
        system=system,
        system_label=system,
        is_native=system == "native",
        hypervisor="" if system == "native" else "KVM",
        guest_os="Debian",
        guest_bits=64,
        vcpus=None if system == "native" else 1,
        host_cores=4,
        line_rate_bit_per_s=LINE_RATE_BIT_PER_S,
        disk_bus_byte_per_s=300e6,
        tool=test.tool,
        metric=test.metric,
        case=test.case,
        case_label=test.case,
        parameters=test.parameters,
        component=test.component,
        unit=test.unit,
        better=test.better,
        clock=test.clock,
        n=len(means),
        mean=float(np.mean(means)),
        run_means=means,
        decimals={"decimals": 2}.get(style.printed),
        **place,
    )


def _together(
    rng: Generator, style: Style, tests: list[Test], speeds: Speeds
) -> Iterator[CellFact]:
    """Return two or three parallel guests of one system, with the printed sum."""
    vms = int(rng.integers(2, 4))
    for test in (test for test in tests if test.component in {"memory", "disk"}):
        fraction = 1.0 if test.component == "memory" else 1.0 / vms
        truth = speeds["vm-1"][test.case] * fraction * rng.uniform(0.6, 0.95)
        circumstances = {"scenario": "parallel", "vms": vms}
        exact = replace(style, printed="all")
        slots = [
            readings(
                rng, exact, test.component, truth * rng.uniform(0.8, 1.05), style.n
            )
            for _ in range(vms)
        ]
        for slot, values in enumerate(slots, 1):
            means = tuple(printed(style, value) for value in values)
            yield _cell(
                rng,
                style,
                "vm-1",
                test,
                0,
                slot=str(slot),
                means=means,
                **circumstances,
            )
        # The sum of measured, not printed, values: slots and sum are rounded
        # separately.
        total = tuple(
            printed(style, sum(values)) for values in zip(*slots, strict=True)
        )
        yield _cell(
            rng, style, "vm-1", test, 0, slot="sum", means=total, **circumstances
        )


def measured(cell: CellFact, *days: int) -> CellFact:
    """Return the cell with its runs spread over these days after the first."""
    starts = [
        NOON + timedelta(days=days[i * len(days) // cell.n]) for i in range(cell.n)
    ]
    return replace(
        cell,
        session_names=tuple(start.date().isoformat() for start in starts),
        first_at=starts[0],
        last_at=starts[-1] + timedelta(hours=1),
    )


def _with_days(rng: Generator, cells: Iterable[CellFact]) -> Iterator[CellFact]:
    """Return cells with days, if known: native and guests on one day, on one each, or
    both on several.

    The machine is the same on all days.
    """
    layout = rng.choice(["unknown", "together", "apart", "repeated"])
    for cell in cells:
        if layout == "unknown":
            yield cell
        elif layout == "repeated":
            yield measured(cell, 0, 1, 4)
        else:
            yield measured(cell, 3 if layout == "apart" and cell.is_native else 0)


def with_baselines(cells: Iterable[CellFact]) -> Iterator[CellFact]:
    """Return the cells with the native cell of each case as baseline."""
    native = {cell.case: cell for cell in cells if cell.is_native}
    for cell in cells:
        own = native.get(cell.case)
        if cell.is_native or own is None:
            yield cell
        else:
            yield replace(cell, baseline=own.id)


def _run(
    system: str, name: str, tool: str, samples: list[dict[str, Any]], **facts: Any
) -> RunFact:
    cells = tuple(SampleFact(**sample) for sample in samples)
    return RunFact(
        id=f"run/{system}/{name}",
        study="here",
        host="alpha",
        system=system,
        system_label=system,
        tool=tool,
        samples=cells,
        **facts,
    )


def _netperf(rng: Generator, system: str) -> RunFact:
    cpus, rate, utilization = (
        int(rng.choice([1, 2, 4])),
        rng.uniform(5, 110),
        rng.uniform(3, 95),
    )
    # Microseconds of CPU per second, by the KB of 1024 B sent per second.
    demand = utilization / 100 * cpus * 1e6 / (rate * 1e6 / 1024)
    ends = {"from": system, "to": "beta"}
    samples = [
        {"metric": "throughput", "value": round(rate, 2), "unit": "MB/s"},
        {
            "metric": "CPU utilization local",
            "value": round(utilization, 2),
            "unit": "%",
        },
        {"metric": "service demand local", "value": round(demand, 3), "unit": "us/KB"},
    ]
    took_s = float(rng.uniform(100, 100.6))
    samples = [{**sample, "parameters": ends} for sample in samples]
    return _run(
        system, "netperf", "netperf", samples, requested_s=100, duration_s=took_s
    )


def _sysbench(rng: Generator, system: str) -> RunFact:
    total_s, threads = rng.uniform(20, 300), int(rng.choice([1, 16, 400]))
    events = int(rng.integers(1000, 20000))
    latency_ms = total_s * rng.uniform(0.9, 0.999) * threads / events * 1000
    reads, other_queries = events * 14, events * 2
    values = [
        ("total time", round(total_s, 4), "s"),
        ("transactions", events, ""),
        ("transaction rate", round(events / total_s, 2), "1/s"),
        ("read/write requests", reads, ""),
        ("other operations", other_queries, ""),
        ("queries", reads + other_queries, ""),
        ("request latency min", round(latency_ms * 0.1, 2), "ms"),
        ("request latency mean", round(latency_ms, 2), "ms"),
        ("request latency max", round(latency_ms * 9, 2), "ms"),
    ]
    parameters = {"threads": str(threads), "test": "oltp"}
    samples = [
        {"metric": m, "value": float(v), "unit": u, "parameters": parameters}
        for m, v, u in values
    ]
    return _run(system, "sysbench", "sysbench", samples)


def _linpack(rng: Generator, system: str) -> RunFact:
    time_s = rng.uniform(0.5, 60)
    # The nominal operations of LINPACK, independent of the actual ones.
    flops = 2 / 3 * 2000**3 + 2 * 2000**2
    samples = [
        {"metric": "time", "value": round(time_s, 3), "unit": "s"},
        {
            "metric": "performance",
            "value": round(flops / time_s / 1e9, 4),
            "unit": "Gflop/s",
        },
    ]
    samples = [{**sample, "parameters": {"n": "2000"}} for sample in samples]
    return _run(system, "linpack", "intel-linpack", samples)


def _metered(rng: Generator, system: str) -> Iterator[RunFact]:
    work_s = rng.uniform(60, 700)
    meter_s = work_s * rng.uniform(1.0, 1.02)
    power_w = rng.uniform(80, 200)
    values = [
        ("meter time", meter_s, "s"),
        ("energy", meter_s * power_w, "J"),
        ("power mean", power_w, "W"),
    ]
    samples = [{"metric": m, "value": round(v, 4), "unit": u} for m, v, u in values]
    corun = f"metered {system}"
    yield _run(system, "meter", "watts-up", samples, corun=corun, clock="meter")
    yield _run(system, "work", "iozone", [], corun=corun, duration_s=work_s)


def _corun(rng: Generator, system: str) -> Iterator[RunFact]:
    length_s = rng.uniform(60, 600)
    for slot in range(1, 4):
        started = NOON + timedelta(seconds=float(rng.uniform(0, 0.01 * length_s)))
        yield _run(
            system,
            f"together {slot}",
            "iozone",
            [],
            corun=f"together {system}",
            slot=str(slot),
            vms=3,
            scenario="parallel",
            started_at=started,
            duration_s=float(length_s * rng.uniform(0.97, 1.0)),
        )


def readings_like(rng: Generator, cell: CellFact, truth: float) -> CellFact:
    """Return the cell measured again with another true value: same noise,
    same print.
    """
    logs = np.log(cell.run_means)
    cv = float(np.std(logs, ddof=1)) if cell.n > 2 else NOISE[cell.component] / 2
    values = truth * np.exp(rng.normal(0, cv, cell.n))
    digits = max(len(repr(mean).partition(".")[2]) for mean in cell.run_means)
    means = tuple(round(float(value), digits) for value in values)
    return replace(cell, run_means=means, mean=float(np.mean(means)))
