"""Native machines that run above a hypervisor all the same."""

from collections import defaultdict
from collections.abc import Iterator

from benchmarks.platforms import BENEATH, shows_hypervisor_beneath
from benchmarks.plausibility.facts import Id, RunFact, StudyFacts
from benchmarks.plausibility.findings import Doubt, rule, subjects
from benchmarks.sentences import counted


@rule("native-above-hypervisor", "A native Windows above a hypervisor", "check")
def native_above_hypervisor(study: StudyFacts) -> Iterator[Doubt]:
    """Runs of a system that is called native state that Windows ran above its own
    hypervisor, for virtualization-based security (VBS) or the Hyper-V role. All such
    runs of one system are one flag.

    Why: what the hypervisor costs is then in the baseline, so that guests look better
    than they are, above all in system calls, page faults and input and output.

    What to do: turn VBS off (and the role, or `bcdedit /set hypervisorlaunchtype off`),
    boot, and measure the baseline again; or dismiss the flag where a Windows as it is
    delivered is what guests are to be compared with.
    """
    beneath: dict[Id, list[RunFact]] = defaultdict(list)
    for run in study.runs:
        if run.is_native and shows_hypervisor_beneath(run.facts):
            beneath[run.system].append(run)
    for system, runs in beneath.items():
        yield Doubt(
            counted(
                "{where} is called native, and Windows ran above its hypervisor (VBS: "
                "{state}).",
                "{where} is called native, and Windows ran above its hypervisor (VBS: "
                "{state}) in {n} runs.",
                where=runs[0].where,
                state=str(runs[0].facts[BENEATH]),
                n=len(runs),
            ),
            subjects("run", (run.id for run in runs)),
            {"system": str(system), "runs": len(runs)},
            (str(system),),
        )
