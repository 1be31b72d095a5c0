"""OpenVZ: the limits of a container and how often it hit them (user_beancounters).

``failcnt`` counts since the start of the container. Only this column and the bytes of
kernel memory are read, because the units of other columns depend on the resource.
"""

from benchmarks.parsing.parser_toolkit import Draft, LineScanner, append_limited, parser
from benchmarks.parsing.tool import Metric, Tool

LINES = LineScanner(
    header=r"uid +resource +held +maxheld +barrier +limit +failcnt",
    row=r"(?:(?P<uid>\d+):[ \t]+)?(?P<resource>[a-z]{3,20})[ \t]+(?P<held>\S+)[ \t]+"
    r"(?P<maxheld>\S+)[ \t]+\S+[ \t]+\S+[ \t]+(?P<failcnt>\S+)[ \t]*+$",
)


@parser("No beancounters found.")
def parse(output: str) -> list[Draft]:
    runs: list[Draft] = []
    for line in LINES(output):
        if line.kind == "header":
            append_limited(runs, Draft())
            continue
        resource = line["resource"]
        # Dummies replace resources that the kernel no longer counts.
        if not runs or resource == "dummy":
            continue
        run = runs[-1]
        # Only the first row of a container names it.
        if line["uid"]:
            run.parameters["container"] = line["uid"]
        failures = line.integer("failcnt")
        run.add("failures", failures, "", resource=resource)
        if resource == "kmemsize":
            run.add("kernel memory", line.integer("held"), "B")
            run.add("kernel memory max", line.integer("maxheld"), "B")
        if failures:
            run.add_warning(
                "limited",
                "Container {container} has reached its limit of {resource} since it "
                "started (failures: {failures}).",
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
        Metric("failures", "", "neither", "memory", allows_zero=True),
        Metric("kernel memory", "B", "lower", "memory"),
        Metric("kernel memory max", "B", "lower", "memory"),
    ),
    aliases=("user_beancounters", "beancounters", "vzubc"),
    labels=("{container}", "{resource}"),
    version=2,
    parse=parse,
    signatures=(r"uid +resource +held +maxheld +barrier +limit +failcnt",),
    is_localized=False,
)
