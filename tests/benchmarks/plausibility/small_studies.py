"""Small studies for the tests of the rules."""

from itertools import count

from benchmarks.plausibility.rules import RULES
from benchmarks.plausibility.study_facts import (
    CellFact,
    RunFact,
    SampleFact,
    StudyFacts,
)

_numbers = count(1)


def cell(*means, **facts):
    """Return a native cell on host alpha, unless specified otherwise."""
    return CellFact(
        **{
            **{"id": f"cell-{next(_numbers)}", "study": "here", "host": "alpha"},
            **{"system": "native", "is_native": facts.get("system") is None},
            **{"tool": "ramspeed", "metric": "bandwidth", "case": "read"},
            **{"component": "memory", "unit": "MB/s"},
            **{"n": len(means), "mean": sum(means) / len(means), "run_means": means},
            **facts,
        }
    )


def run(tool="netperf", samples=(), **facts):
    return RunFact(
        **{
            **{"id": f"run-{next(_numbers)}", "study": "here", "system": "native"},
            **{"tool": tool, "samples": samples, **facts},
        }
    )


def sample(metric, value, unit="", **facts):
    return SampleFact(metric=metric, value=value, unit=unit, **facts)


def findings(rule, *members, others=(), **facts):
    """Return the findings of one rule about these cells and runs."""
    study = StudyFacts(
        id="here",
        cells=tuple(member for member in members if isinstance(member, CellFact)),
        runs=tuple(member for member in members if isinstance(member, RunFact)),
        other_study_cells=tuple(others),
        **facts,
    )
    return list(RULES[rule].findings(study))
