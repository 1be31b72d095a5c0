"""libvirt: what the host knows of its virtual machines (``virsh domstats``).

One line of a machine's block::

    vcpu.0.delay=4225229820

Counters run since the machine was started: a reading is the difference of two samples
in one log. Times are ns, memory is KiB. ``delay`` is the time a virtual CPU waited for
a real one: what the guest calls steal.
"""

from benchmarks.tools.base import Metric, Tool
from benchmarks.tools.parser import Draft, ParsedRun, Parser, finished, keep
from benchmarks.tools.scan import Found, Scanner

LINES = Scanner(
    domain=r"Domain: '(?P<name>[^\n]*)'[ \t]*+$",
    gauge=r"balloon\.(?P<gauge>current|rss)=(?P<kibibytes>\S*)[ \t]*+$",
    label=r"(?P<labelled>block|net)\.(?P<number>\d+)\.name=(?P<label>[^\n]*)$",
    counter=r"(?P<group>cpu|vcpu|block|net)\.(?:(?P<index>\d+)\.)?"
    r"(?P<key>time|user|system|wait|delay|(?:rd|wr|fl)\.(?:reqs|bytes|times)"
    r"|[rt]x\.(?:bytes|errs|drop))=(?P<value>\S*)[ \t]*+$",
)
GAUGES = {"current": "memory", "rss": "resident memory"}
COUNTERS = {
    "cpu.time": ("CPU time", "ns"),
    "cpu.user": ("CPU time user", "ns"),
    "cpu.system": ("CPU time system", "ns"),
    "vcpu.time": ("vCPU time", "ns"),
    "vcpu.wait": ("vCPU wait", "ns"),
    "vcpu.delay": ("vCPU delay", "ns"),
    "block.rd.reqs": ("disk reads", ""),
    "block.wr.reqs": ("disk writes", ""),
    "block.fl.reqs": ("disk flushes", ""),
    "block.rd.bytes": ("disk data read", "B"),
    "block.wr.bytes": ("disk data written", "B"),
    "block.rd.times": ("disk read time", "ns"),
    "block.wr.times": ("disk write time", "ns"),
    "block.fl.times": ("disk flush time", "ns"),
    "net.rx.bytes": ("network data received", "B"),
    "net.tx.bytes": ("network data sent", "B"),
    "net.rx.errs": ("network receive errors", ""),
    "net.tx.errs": ("network send errors", ""),
    "net.rx.drop": ("network receive drops", ""),
    "net.tx.drop": ("network send drops", ""),
}
PARAMETERS = {"vcpu": "vCPU", "block": "disk", "net": "interface"}


class Domain:
    """A machine: its run, and the counters of its last sample."""

    def __init__(self, name: str) -> None:
        self.run = Draft(facts={"domain": name, "samples": 0})
        self.counters: dict[str, int] = {}
        self.labels: dict[str, str] = {}
        self.samples = 0

    def begin(self) -> None:
        """Another sample of this machine."""
        self.samples += 1
        self.run.facts["samples"] = self.samples

    def read(self, line: Found) -> None:
        """A line of the sample."""
        if line.kind == "label":
            self.labels[f"{line['labelled']}.{line['number']}"] = line["label"].strip()
        elif line.kind == "gauge":
            kibibytes = line.whole("kibibytes")
            self.run.add(GAUGES[line["gauge"]], kibibytes, "KiB")
        elif f"{line['group']}.{line['key']}" in COUNTERS:
            self._count(line)

    def _count(self, line: Found) -> None:
        group, index = line["group"], line["index"]
        key = f"{group}.{index}.{line['key']}"
        value = line.whole("value")
        before = self.counters.get(key)
        self.counters[key] = value
        metric, unit = COUNTERS[f"{group}.{line['key']}"]
        if before is None:
            return
        if value < before:
            self.run.mark(
                "restarted",
                "A counter fell between two samples: the machine was started anew.",
            )
        elif value > before or not unit:
            parameters = {}
            if index:
                label = self.labels.get(f"{group}.{index}", index)
                parameters[PARAMETERS[group]] = label
            self.run.add(metric, value - before, unit, **parameters)


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each machine."""
    domains: dict[str, Domain] = {}
    current: Domain | None = None
    runs: list[Draft] = []
    for line in LINES(output):
        if line.kind == "domain":
            name = line["name"]
            if name not in domains:
                domains[name] = Domain(name)
                keep(runs, domains[name].run)
            current = domains[name]
            current.begin()
        elif current:
            current.read(line)
    for domain in domains.values():
        if domain.samples == 1:
            domain.run.mark(
                "one_sample",
                "There is one sample: its counters run since the start of the machine, "
                "and are left out. Put two samples into one text.",
            )
    return finished(runs, "virsh domstats told nothing of a machine.")


def _metric(name: str, unit: str) -> Metric:
    component = {"block": "disk", "net": "network"}
    group = next(key for key, known in COUNTERS.items() if known[0] == name)
    return Metric(
        name=name,
        unit={"ns": "s"}.get(unit, unit),
        better="lower" if unit else "neither",
        component=component.get(group.partition(".")[0], "CPU"),  # type: ignore[arg-type]
        zero_allowed=not unit,
    )


TOOL = Tool(
    slug="libvirt-domstats",
    title="libvirt domstats",
    homepage="https://libvirt.org/manpages/virsh.html",
    metrics=(
        *(
            Metric(name=name, unit="KiB", better="lower", component="memory")
            for name in GAUGES.values()
        ),
        *(_metric(name, unit) for name, unit in COUNTERS.values()),
    ),
    aliases=("virsh domstats", "domstats"),
    labels=("vCPU {vCPU}", "{disk}", "{interface}"),
    parser=Parser(
        version=1,
        parse=parse,
        signatures=(r"Domain: '[^\n]*'[ \t]*+$",),
        localized=False,
    ),
)
