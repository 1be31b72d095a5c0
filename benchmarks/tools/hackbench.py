"""hackbench: groups of senders and receivers that load the scheduler.

Times are in seconds.
"""

from benchmarks.parsing.parser_toolkit import Draft, LineScanner, append_limited, parser
from benchmarks.parsing.tool import Metric, Options, Tool, always

LINES = LineScanner(
    header=r"Running in (?P<mode>\w+) mode with (?P<groups>\d+) groups using "
    r"(?P<descriptors>\d+) file descriptors each \(== (?P<tasks>\d+) tasks\)",
    old=r"Running with (?P<old_groups>\d+)\*(?P<old_descriptors>\d+) "
    r"\(== (?P<old_tasks>\d+)\) tasks",
    each=r"Each sender will pass (?P<messages>\d+) messages of (?P<size>\d+) bytes",
    time=r"Time: *+(?P<time>\S+)[ \t]*+$",
    failed=r"(?:fork\(\)|pthread_\w+|SENDER: |CLIENT: |Creating |Creat \w+ |"
    r"Longest |Reaping |[^\n:]{1,40}+: )[^\n(]{0,80}+\(error: |"
    r"Signal \d+ caught, longjmp'ing out|longjmp'ed out",
)


@parser("hackbench printed no time, so it did not finish.")
def parse(output: str) -> list[Draft]:
    runs = [Draft()]
    for line in LINES(output):
        if line.kind in {"header", "old"} or (line.kind == "time" and runs[-1]):
            append_limited(runs, Draft())
        run = runs[-1]
        if line.kind == "time":
            run.add("time", line.number("time", decimals=3), "s")
        elif line.kind == "each":
            run.parameters["messages"] = line.integer("messages")
            run.parameters["message size"] = f"{line.integer('size')} B"
        elif line.kind == "failed":
            run.add_failure(
                "failed", 'hackbench printed "{text}".', text=line.text.strip()
            )
        else:
            old = "old_" if line.kind == "old" else ""
            if not old:
                run.parameters["mode"] = line["mode"].casefold()
            for name in ("groups", "descriptors"):
                run.parameters[name] = line.integer(f"{old}{name}")
            run.facts["tasks"] = line.integer(f"{old}tasks")
    return runs


TOOL = Tool(
    slug="hackbench",
    title="hackbench",
    homepage="https://wiki.linuxfoundation.org/realtime/documentation/howto/tools/hackbench",
    options=Options(dict.fromkeys(("-g", "--groups"), "groups")),
    metrics=(
        Metric(
            "time", "s", "lower", "CPU", work_class=always("system: context switch")
        ),
    ),
    labels=("{mode}", "{groups} groups"),
    version=2,
    parse=parse,
    signatures=(
        r"Running in \w+ mode with \d+ groups using \d",
        r"Running with \d+\*\d+ \(== \d+\) tasks",
    ),
    programs=("hackbench",),
    is_localized=False,
)
