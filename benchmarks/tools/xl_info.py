"""xl info: the host below Xen, and how much of its memory is in use.

One line, MiB::

    free_memory            : 128

It is mostly facts of a host (processors, version, scheduler, command line); the one
sample is the memory that Xen and its domains hold: ``total_memory`` without
``free_memory``. ``xm info`` prints the same.
"""

from benchmarks.parsing.contract import Metric, Tool
from benchmarks.parsing.scanning import Draft, Found, Scanner, keep, parser

_FACTS = (
    "host|release|machine|nr_cpus|nr_nodes|cores_per_socket|threads_per_core|cpu_mhz"
    "|virt_caps|total_memory|free_memory|xen_major|xen_minor|xen_extra|xen_version"
    "|xen_caps|xen_scheduler|xen_commandline|cc_compiler"
)
LINES = Scanner(fact=rf"(?P<name>{_FACTS}) +: ?(?P<value>[^\n]*)$")
MEMORY = ("total_memory", "free_memory")


@parser("xl info reported no total_memory and free_memory.")
def parse(output: str) -> list[Draft]:
    """One run for each host that is described."""
    hosts: list[dict[str, Found]] = [{}]
    for line in LINES(output):
        if line["name"] in hosts[-1]:
            keep(hosts, {})
        hosts[-1][line["name"]] = line

    runs: list[Draft] = []
    for host in hosts:
        facts = {name: line["value"].strip() for name, line in host.items()}
        # xm info prints its parts only.
        numbered = ".".join(filter(None, map(facts.get, ("xen_major", "xen_minor"))))
        version = facts.get("xen_version") or numbered + facts.get("xen_extra", "")
        run = Draft(tool_version=version, facts={**facts})
        runs.append(run)
        lines = [host[name] for name in MEMORY if name in host]
        if len(lines) < len(MEMORY):
            continue
        for line in lines:
            line.refuse_open("value")
            size = line["value"].strip()
            if not size.isdecimal() or len(size) > 15:
                raise line.refused("this is not a whole number of MiB.")
        total, free = (int(facts[name]) for name in MEMORY)
        if free > total:
            raise host["free_memory"].refused(
                "of {total} MiB, {free} are not free.", total=total, free=free
            )
        run.add("memory in use", total - free, "MiB")
    return runs


TOOL = Tool(
    slug="xl-info",
    title="xl info",
    homepage="https://xenbits.xen.org/docs/unstable/man/xl.1.html",
    metrics=(Metric("memory in use", "MiB", "lower", "memory"),),
    aliases=("xm info",),
    version=1,
    parse=parse,
    signatures=(r"(?:virt_caps|hw_caps|xen_(?:major|version|caps)) +: ",),
    localized=False,
)
