"""NTttcp for Windows and Linux: throughput of TCP or UDP between two machines.

Mbit/s are 10^6 bit/s in all versions, while MB/s are 2^20 B in Windows and 10^6 B in
Linux. XML states which side measured; the text of Linux does not::

    10:26:02 INFO: 	 throughput	:2.16Gbps
"""

from xml.etree.ElementTree import Element

from benchmarks.errors import ParseError
from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import Metric, Tool, first_match, when
from benchmarks.parsing.xml_documents import xml_documents, xml_number

_INFO = r"\d\d:\d\d:\d\d INFO: [ \t]*+"
LINES = LineScanner(
    begin=r"NTTTCP for Linux (?P<version>[\d.]+)",
    connections=_INFO + r"(?P<connections>\d+) connections tested[ \t]*+$",
    duration=_INFO + r"test duration[ \t]*+:(?P<duration>[\d.]+) seconds[ \t]*+$",
    rate=_INFO + r"throughput[ \t]*+:(?P<rate>[\d.]+)(?P<unit>[KMG]?bps)[ \t]*+$",
    retransmits=_INFO + r"retrans segs[ \t]*+:(?P<retransmits>\d+)[ \t]*+(?=\n)",
    cpu=_INFO + r"cpu busy \(all\)[ \t]*+:(?P<cpu>[\d.]+)%[ \t]*+$",
    error=r"\d\d:\d\d:\d\d ERR *: (?P<error>[^\n]*)$",
)
UNITS = {"bps": "bit/s", "Kbps": "kbit/s", "Mbps": "Mbit/s", "Gbps": "Gbit/s"}
ROOTS = {"ntttcps": "send", "ntttcpr": "receive"}
SIDES = first_match(
    when("network: throughput out", operation="send"),
    when("network: throughput in", operation="receive"),
)


def _read(run: Draft, line: MatchedLine) -> None:
    if line.kind == "connections":
        run.parameters["connections"] = line.integer("connections")
    elif line.kind == "duration":
        run.facts["duration"] = line["duration"]
    elif line.kind == "rate":
        run.add("throughput", line.number("rate"), UNITS[line["unit"]])
    elif line.kind == "retransmits":
        run.add("retransmits", line.integer("retransmits"), "")
    elif line.kind == "cpu":
        run.add("CPU utilization", line.number("cpu"), "%")
    else:
        run.add_failure("failed", "NTttcp printed: {error}.", error=line["error"])


def _read_xml(run: Draft, document: Element) -> None:
    parameters = document.find("parameters")
    if parameters is not None:
        is_udp = parameters.findtext("udp") == "True"
        run.parameters["protocol"] = "UDP" if is_udp else "TCP"
    threads = len(document.findall("thread"))
    for name, count in (
        ("threads", threads),
        ("connections", xml_number(document, "conns_tested")),
    ):
        if count:
            run.parameters[name] = int(count)
    if length := xml_number(document, "bufferLen"):
        run.parameters["buffer"] = f"{length:g} B"
    rate = xml_number(document, "throughput[@metric='mbps']")
    if not rate:
        raise ParseError("NTttcp measured no throughput.")
    run.add("throughput", rate, "Mbit/s")
    cpu = xml_number(document, "cpu")
    if cpu is None:
        cpu = xml_number(document, "cpu_busy_all")
    if cpu is not None:
        run.add("CPU utilization", cpu, "%")
    retransmits = xml_number(document, "packets_retransmitted")
    if retransmits is not None:
        run.add("retransmits", retransmits, "")


@parser("NTttcp printed no throughput.")
def parse(output: str) -> list[Draft]:
    runs = [Draft()]
    for line in LINES(output):
        if line.kind == "begin":
            append_limited(runs, Draft(tool_version=line["version"]))
        else:
            runs[-1].read_line(_read, runs[-1], line)
    for root, operation in ROOTS.items():
        for document in xml_documents(output, root):
            run = Draft(
                tool_version=document.get("version", ""),
                parameters={"operation": operation},
            )
            append_limited(runs, run)
            run.read_line(_read_xml, run, document)
    return runs


TOOL = Tool(
    slug="ntttcp",
    title="NTttcp",
    homepage="https://github.com/microsoft/ntttcp",
    metrics=(
        Metric("throughput", "Mbit/s", "higher", "network", work_class=SIDES),
        Metric("CPU utilization", "%", "lower", "network", allows_zero=True),
        Metric("retransmits", "", "neither", "network", allows_zero=True),
    ),
    aliases=("ntttcp-for-linux",),
    labels=("{protocol}", "{threads} threads", "{buffer}"),
    version=1,
    parse=parse,
    signatures=(r"NTTTCP for Linux \d", r"<ntttcp[sr] computername="),
    programs=("ntttcp",),
    is_localized=False,
)
