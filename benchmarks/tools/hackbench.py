"""hackbench: groups of senders and receivers that load the scheduler.

The result row, as printed by the hackbench of rt-tests 2.4::

    Time: 0.721

It is in seconds, of all the messages together. The older programs print their header
as ``Running with 10*40 (== 400) tasks.``
"""

from benchmarks.parsing.contract import Metric, Options, Tool, always
from benchmarks.parsing.scanning import Draft, Scanner, keep, parser

LINES = Scanner(
    header=r"Running in (?P<mode>\w+) mode with (?P<groups>\d+) groups using "
    r"(?P<descriptors>\d+) file descriptors each \(== (?P<tasks>\d+) tasks\)",
    old=r"Running with (?P<old_groups>\d+)\*(?P<old_descriptors>\d+) "
    r"\(== (?P<old_tasks>\d+)\) tasks",
    each=r"Each sender will pass (?P<messages>\d+) messages of (?P<size>\d+) bytes",
    time=r"Time: *+(?P<time>\S+)[ \t]*+$",
    failed=r"(?:fork\(\)|pthread_\w+|SENDER: |CLIENT: |Creating |Creat \w+ |"
    r"Longest |Reaping |[^\n:]{1,40}: )[^\n]{0,80}\(error: |"
    r"Signal \d+ caught, longjmp'ing out|longjmp'ed out",
)


@parser("hackbench printed no time: it did not come to its end.")
def parse(output: str) -> list[Draft]:
    """Return one run for each header; without one, for each time."""
    runs = [Draft()]
    for line in LINES(output):
        if line.kind in {"header", "old"} or (line.kind == "time" and runs[-1]):
            keep(runs, Draft())
        run = runs[-1]
        if line.kind == "time":
            run.add("time", line.number("time", decimals=3), "s")
        elif line.kind == "each":
            run.parameters["messages"] = line.whole("messages")
            run.parameters["message size"] = f"{line.whole('size')} B"
        elif line.kind == "failed":
            run.mark("failed", 'hackbench printed "{text}".', text=line.text.strip())
        else:
            old = "old_" if line.kind == "old" else ""
            if not old:
                run.parameters["mode"] = line["mode"].casefold()
            for name in ("groups", "descriptors"):
                run.parameters[name] = line.whole(f"{old}{name}")
            run.facts["tasks"] = line.whole(f"{old}tasks")
    return runs


TOOL = Tool(
    slug="hackbench",
    title="hackbench",
    homepage="https://wiki.linuxfoundation.org/realtime/documentation/howto/tools/hackbench",
    options=Options(dict.fromkeys(("-g", "--groups"), "groups")),
    metrics=(
        Metric("time", "s", "lower", "CPU", work=always("system: context switch")),
    ),
    labels=("{mode}", "{groups} groups"),
    version=1,
    parse=parse,
    signatures=(
        r"Running in \w+ mode with \d+ groups using \d",
        r"Running with \d+\*\d+ \(== \d+\) tasks",
    ),
    programs=("hackbench",),
    localized=False,
)
