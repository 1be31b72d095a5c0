"""What the agent is told in each system. PURE.

Sizes are small: an emulated processor computes twenty times slower than a real one.
"""

from typing import Any, Final

from lab.boots import System

TOOLS: Final = ("virtlab-linpack", "virtlab-memory", "sysbench")
STEPS: Final = {"virtlab-linpack": 1, "virtlab-memory": 1, "sysbench": 3}
LIARS_TOOLS: Final = ("virtlab-linpack", "sysbench")
SIZES: Final = "100,200"
# Nothing of a warm-up round is sent, and each boot would pay for one: our kernels warm
# up by themselves, and the guests' script has sysbench read from the disk before.
WORDS: Final = (
    *("--warm-up", "0"),
    *("--seconds", "1", "--sizes", SIZES),
    *("--blocks-kib", "16,1024", "--array-mib", "4"),
)


def tools_of(system: System) -> tuple[str, ...]:
    return LIARS_TOOLS if system.name == "liar" else TOOLS


def runs_of(system: System, repetitions: int) -> int:
    """Return how many runs a visit is to upload: each start of a program is one."""
    return repetitions * sum(STEPS[tool] for tool in tools_of(system))


def note_of(system: System) -> str:
    """Return the note by which the lab finds a system's runs again."""
    return f"make lab: {system.name}"


def measure_words(
    system: System,
    repetitions: int,
    *,
    session: str,
    beneath: tuple[str, ...],
    versions: dict[str, str],
) -> list[str]:
    """Return the words of `run`. ``beneath``: what this machine itself stands on."""
    words = ["run", *tools_of(system), "--repetitions", str(repetitions), *WORDS]
    words += ["--session", session, "--note", note_of(system)]
    return words + system_words(system, beneath, versions)


def system_words(
    system: System, beneath: tuple[str, ...], versions: dict[str, str]
) -> list[str]:
    """Say what the agent cannot see from inside: layers further out, and versions."""
    if not system.layers:
        return ["--hypervisor", "native"]
    words = ["--option", f"layers={' > '.join((*beneath, *system.layers))}"]
    for option in system.options:
        words += ["--option", option]
    if version := versions.get(system.layers[-1]):
        words += ["--hypervisor-version", version]
    return words


def plan_document(
    study: str, system: int, slots: int, repetitions: int
) -> dict[str, Any]:
    """Return the plan by which guests run LINPACK together."""
    return {
        "study": study,
        "title": f"LINPACK in {slots} guests at once",
        "systems": [{"system": system, "slots": slots}],
        "tools": [{"tool": "virtlab-linpack", "options": {"sizes": SIZES}}],
        "scenarios": [{"kind": "parallel", "vms": slots}],
        "repetitions": repetitions,
        "budget_s": 60 + 60 * (repetitions + 1),
    }
