"""libvirt: the host's statistics of its virtual machines (``virsh domstats``).

A reading is the increase of a counter from the first to the last sample. Times are ns,
memory is KiB. ``delay`` is the time a virtual CPU waited for a real one (the guest's
steal time).
"""

from benchmarks.parsing.parser_toolkit import Draft, LineScanner, MatchedLine, parser
from benchmarks.parsing.sampled_logs import SampleSummary, summary_metrics
from benchmarks.parsing.tool import Component, Metric, Tool

LINES = LineScanner(
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
COMPONENTS: dict[str, Component] = {"block": "disk", "net": "network"}
PARAMETERS = {"vcpu": "vCPU", "block": "disk", "net": "interface"}


class LibvirtDomain:
    def __init__(self, name: str) -> None:
        self.name = name
        self.samples = 0
        self.has_restarted = False
        self.gauges: dict[str, SampleSummary] = {}
        self.counters: dict[tuple[str, str, str], int] = {}
        self.grown: dict[tuple[str, str, str], int] = {}
        self.labels: dict[str, str] = {}

    def begin(self) -> None:
        self.samples += 1
        self.labels = {}

    def read(self, line: MatchedLine) -> None:
        if line.kind == "label":
            self.labels[f"{line['labelled']}.{line['number']}"] = line["label"].strip()
        elif line.kind == "gauge":
            gauge = self.gauges.setdefault(GAUGES[line["gauge"]], SampleSummary())
            gauge.append(line.integer("kibibytes"))
        elif f"{line['group']}.{line['key']}" in COUNTERS:
            self._count(line)

    def _count(self, line: MatchedLine) -> None:
        group, index = line["group"], line["index"]
        # The name of a device is constant; its index is not.
        label = self.labels.get(f"{group}.{index}", index)
        key = (group, label, line["key"])
        value = line.integer("value")
        before = self.counters.get(key)
        self.counters[key] = value
        if before is not None and value >= before:
            self.grown[key] = self.grown.get(key, 0) + value - before
        elif before is not None:
            self.has_restarted = True

    def add_to(self, run: Draft) -> None:
        for name, gauge in self.gauges.items():
            gauge.add_to(run, name, "KiB", domain=self.name)
        for (group, label, key), grown in self.grown.items():
            metric, unit = COUNTERS[f"{group}.{key}"]
            part = {PARAMETERS[group]: label} if label else {}
            run.add(metric, grown, unit, domain=self.name, **part)
        if self.has_restarted:
            run.add_warning(
                "restarted",
                "A counter of {name} decreased between two samples. The machine "
                "was restarted, and its activity between the samples is not known.",
                name=self.name,
            )
        if self.samples == 1:
            run.add_warning(
                "one_sample",
                "Only one sample of {name} exists. Its counters run from the start "
                "of the machine, so they were excluded. Put two samples into one "
                "text.",
                name=self.name,
            )


@parser("virsh domstats reported no machines.")
def parse(output: str) -> list[Draft]:
    domains: dict[str, LibvirtDomain] = {}
    current: LibvirtDomain | None = None
    for line in LINES(output):
        if line.kind == "domain":
            current = domains.setdefault(line["name"], LibvirtDomain(line["name"]))
            current.begin()
        elif current:
            current.read(line)
    run = Draft()
    for domain in domains.values():
        domain.add_to(run)
        run.facts["samples"] = domain.samples
    return [run]


TOOL = Tool(
    slug="libvirt-domstats",
    title="libvirt domstats",
    homepage="https://libvirt.org/manpages/virsh.html",
    metrics=(
        *(
            metric
            for name in GAUGES.values()
            for metric in summary_metrics(name, "KiB", "memory")
        ),
        *(
            Metric(
                name=name,
                unit={"ns": "s"}.get(unit, unit),
                better="lower" if unit else "neither",
                kind="amount" if unit else "count",
                component=COMPONENTS.get(key.partition(".")[0], "CPU"),
                allows_zero=True,
            )
            for key, (name, unit) in COUNTERS.items()
        ),
    ),
    aliases=("virsh domstats", "domstats"),
    labels=("{domain}", "vCPU {vCPU}", "{disk}", "{interface}"),
    version=2,
    parse=parse,
    signatures=(r"Domain: '[^\n]*'[ \t]*+$",),
    is_localized=False,
)
