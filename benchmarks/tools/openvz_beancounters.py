"""OpenVZ: the limits of a container and how often it hit them (user_beancounters).

One row, its last number (``failcnt``) counted since the container was started::

           101:  kmemsize        2752512     2936012    14372700    14790164           3

Only ``failcnt`` and the bytes of kernel memory are read: the other columns are in units
of their resource (pages of a size that is not printed, files, sockets).
"""

from benchmarks.parsing.contract import Metric, Tool
from benchmarks.parsing.scanning import Draft, Scanner, keep, parser

LINES = Scanner(
    header=r"uid +resource +held +maxheld +barrier +limit +failcnt",
    row=r"(?:(?P<uid>\d+):[ \t]+)?(?P<resource>[a-z]{3,20})[ \t]+(?P<held>\S+)[ \t]+"
    r"(?P<maxheld>\S+)[ \t]+\S+[ \t]+\S+[ \t]+(?P<failcnt>\S+)[ \t]*+$",
)


@parser("There are no beancounters.")
def parse(output: str) -> list[Draft]:
    """Return one run for each table; each container is a case of its own."""
    runs: list[Draft] = []
    for line in LINES(output):
        if line.kind == "header":
            keep(runs, Draft())
            continue
        resource = line["resource"]
        # Dummies stand for resources that the kernel does not count any more.
        if not runs or resource == "dummy":
            continue
        run = runs[-1]
        # Only the first row of a container names it.
        if line["uid"]:
            run.parameters["container"] = line["uid"]
        failures = line.whole("failcnt")
        run.add("failures", failures, "", resource=resource)
        if resource == "kmemsize":
            run.add("kernel memory", line.whole("held"), "B")
            run.add("kernel memory max", line.whole("maxheld"), "B")
        if failures:
            run.mark(
                "limited",
                "Container {container} hit its limit of {resource} {failures} "
                "times since it was started.",
                container=run.parameters.get("container", ""),
                resource=resource,
                failures=failures,
            )
    return runs


TOOL = Tool(
    slug="openvz-beancounters",
    title="OpenVZ beancounters",
    homepage="https://wiki.openvz.org/Proc/user_beancounters",
    metrics=(
        Metric("failures", "", "neither", "memory", zero_allowed=True),
        Metric("kernel memory", "B", "lower", "memory"),
        Metric("kernel memory max", "B", "lower", "memory"),
    ),
    aliases=("user_beancounters", "beancounters", "vzubc"),
    labels=("{container}", "{resource}"),
    version=2,
    parse=parse,
    signatures=(r"uid +resource +held +maxheld +barrier +limit +failcnt",),
    localized=False,
)
