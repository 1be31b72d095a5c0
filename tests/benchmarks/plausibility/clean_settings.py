"""Clean simulated studies of settings: how often rules flag them by chance.

Guests that differ in options, labels and sizes, measured 3 to 30 times in one session,
or in three shared ones whose days differ by 3 %. Runs are independent: normal,
lognormal, skewed or heavy-tailed, quiet or noisy, and printed with three digits or
more. One setting in three studies was measured under two labels.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final

import numpy as np
from numpy.random import Generator

from benchmarks.plausibility.rules import RULES, apply_rules
from benchmarks.plausibility.study_facts import (
    CellFact,
    RunFact,
    SampleFact,
    StudyFacts,
)
from tests.benchmarks.plausibility.simulated_studies import NOON, with_baselines

CHECKED_RULES: Final = (
    "deviation-above-mean", "coarse-clock", "level-changes", "two-speeds",
    "label-of-two-systems", "equal-settings-differ", "setting-and-day", "size-differs",
    "build-differs",
)  # fmt: skip
KINDS: Final = ("normal", "lognormal", "skewed", "t3")
NOISES: Final = (0.002, 0.005, 0.01, 0.03, 0.1, 0.2)
DAY: Final = 0.03
GIB: Final = 2**30


@dataclass(frozen=True)
class Design:
    n: int
    kind: str
    noise: float
    days: int
    digits: int
    is_size_sweep: bool
    has_second_label: bool


@dataclass(frozen=True)
class Setting:
    name: str
    options: dict[str, str]
    vcpus: int = 4
    memory_bytes: int = 8 * GIB


def draw_design(rng: Generator) -> Design:
    return Design(
        n=int(rng.choice([3, 5, 6, 8, 10, 15, 20, 30])),
        kind=str(rng.choice(KINDS)),
        noise=float(rng.choice(NOISES)),
        days=int(rng.choice([1, 1, 3])),
        digits=int(rng.choice([3, 4, 6])),
        is_size_sweep=bool(rng.random() < 0.3),
        has_second_label=bool(rng.random() < 0.3),
    )


def clean_settings(seed: int, design: Design | None = None) -> StudyFacts:
    """Return a study of settings without any mistake."""
    rng = np.random.default_rng([seed, 4])
    design = design or draw_design(rng)
    cells: list[CellFact] = []
    for test in range(int(rng.integers(1, 9))):
        is_time = bool(rng.random() < 0.5)
        level = float(10 ** rng.uniform(0, 4))
        days = DAY * rng.normal(size=design.days)
        effect: dict[object, float] = {}
        for setting in _settings(design):
            same = setting.options["cache"], setting.vcpus, setting.memory_bytes
            factor = effect.setdefault(same, float(rng.uniform(0.6, 1)))
            truth = level * (1 / factor if is_time else factor)
            values = truth * _scatter(rng, design, days)
            cells.append(_cell(design, setting, test, values.tolist(), is_time=is_time))
    runs = [_run(cell) for cell in cells if rng.random() < 0.7]
    return StudyFacts(id="here", cells=tuple(with_baselines(cells)), runs=tuple(runs))


def _settings(design: Design) -> Iterator[Setting]:
    yield Setting("native", {"cache": "-"})
    for number, cache in enumerate(("none", "writeback", "directsync", "unsafe")):
        yield Setting(f"vm-{number}", {"cache": cache, "setting": f"v{number}"})
    if design.has_second_label:
        yield Setting("vm-0 again", {"cache": "none", "setting": "v0 again"})
    if design.is_size_sweep:
        for vcpus in (1, 2, 8):
            yield Setting(f"vm-{vcpus}-cpus", {"cache": "none"}, vcpus, vcpus * 2 * GIB)


def _scatter(rng: Generator, design: Design, days: Any) -> Any:
    n, noise = design.n, design.noise
    factor = {
        "normal": lambda: 1 + rng.normal(0, noise, n),
        "lognormal": lambda: np.exp(rng.normal(0, noise, n)),
        "skewed": lambda: 1 + noise * (rng.gamma(2, size=n) - 2) / np.sqrt(2),
        "t3": lambda: np.exp(noise * rng.standard_t(3, n) / np.sqrt(3)),
    }[design.kind]()
    return np.maximum(factor, 0.05) * np.exp(days[_days(design)])


def _days(design: Design) -> Any:
    return np.arange(design.n) * design.days // design.n


def _cell(
    design: Design, setting: Setting, test: int, values: list[float], *, is_time: bool
) -> CellFact:
    first = float(f"{values[0]:.{design.digits - 1}e}")
    decimals = max(design.digits - 1 - int(np.floor(np.log10(first))), 0)
    means = tuple(round(value, decimals) for value in values)
    starts = [NOON + timedelta(days=int(day)) for day in _days(design)]
    return CellFact(
        id=f"{setting.name}/{test}",
        study="here",
        host="alpha",
        system=setting.name,
        is_native=setting.name == "native",
        hypervisor="" if setting.name == "native" else "KVM",
        vcpus=setting.vcpus,
        memory_bytes=setting.memory_bytes,
        options=setting.options,
        host_cores=16,
        tool="hackbench" if is_time else "linpack",
        metric="time" if is_time else "performance",
        case=test,
        parameters={"size": str(1000 + test)},
        component="CPU",
        unit="s" if is_time else "Mflop/s",
        better="lower" if is_time else "higher",
        n=design.n,
        mean=float(np.mean(means)),
        run_means=means,
        decimals=decimals,
        session_names=tuple(start.date().isoformat() for start in starts),
        first_at=starts[0],
        last_at=starts[-1] + timedelta(hours=1),
    )


def _run(cell: CellFact) -> RunFact:
    sample = SampleFact(metric=cell.metric, value=cell.mean, cell=cell.id)
    return RunFact(
        id=f"run of {cell.id}",
        study="here",
        host=cell.host,
        system=cell.system,
        tool=cell.tool,
        tool_version="2.1",
        samples=(sample,),
        facts={"compiler": "gcc 12"},
    )


@dataclass
class FalseFlags:
    """Cells of clean studies that rules name."""

    cells: int = 0
    by_rule: Counter[str] = field(default_factory=Counter)
    by_any: int = 0


def false_flags(*, studies: int, seed: int, **fixed: Any) -> FalseFlags:
    """Count cells of clean studies that are named by each of `CHECKED_RULES`."""
    counted = FalseFlags()
    for number in range(seed, seed + studies):
        design = draw_design(np.random.default_rng([number, 5]))
        study = clean_settings(number, replace(design, **fixed))
        named: dict[str, set[object]] = {rule: set() for rule in CHECKED_RULES}
        for finding in apply_rules(study, [RULES[rule] for rule in CHECKED_RULES]):
            subjects = {subject.id for subject in finding.subjects}
            named[finding.rule] |= {
                cell.id
                for cell in study.cells
                if {str(cell.id), str(cell.system)} & subjects
            }
        counted.cells += len(study.cells)
        counted.by_any += len(set().union(*named.values()))
        for rule, cells in named.items():
            counted.by_rule[rule] += len(cells)
    return counted
