"""IPMI DCMI: power readings of the machine's management controller (BMC).

The formats are ``ipmitool dcmi power reading``, FreeIPMI's ``ipmi-dcmi
--get-system-power-statistics`` and ``ipmiutil dcmi``. Minimum, maximum and mean cover
the BMC's own window (``sampling period``), not the benchmark. A deactivated reading has
meaningless numbers.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from statistics import fmean

from benchmarks.parsing.parser_toolkit import Draft, LineScanner, MatchedLine, parser
from benchmarks.parsing.sampled_logs import SampleSummary, summary_metrics
from benchmarks.parsing.tool import Metric, Tool

_W = r"(?P<{0}>\S+)(?: +[Ww]atts?\b)?"
_WINDOW = (
    r"(?:during sampling period|power reading over sample period"
    r"|[Pp]ower over sampl(?:e|ing) duration)"
)
LINES = LineScanner(
    now=rf"(?:Instantaneous power reading|Current Power) *: *{_W.format('power')}",
    least=rf"Min(?:imum)? {_WINDOW} *: *" + _W.format("window_min"),
    most=rf"Max(?:imum)? {_WINDOW} *: *" + _W.format("window_max"),
    mean=rf"(?:Average|Avg) {_WINDOW} *: *{_W.format('window_mean')}",
    period=r"(?:Sampling period|Statistics reporting time period) *: *"
    r"(?P<period>[^\n]*)$",
    state=r"(?:Power reading state is|Power Measurement) *: *(?P<state>[^\n]*)$",
    failed=r"(?:Could not open device at|DCMI request failed|Error sending|"
    r"ipmi_cmd_dcmi_get_power\w*:|Error in response)[^\n]*$",
)
GROUPS = {
    "now": "power",
    "least": "window_min",
    "most": "window_max",
    "mean": "window_mean",
}
ON = {"activated", "active"}
WINDOWS: dict[str, tuple[str, Callable[[Iterable[float]], float]]] = {
    "least": ("min", min),
    "most": ("max", max),
    "mean": ("mean", fmean),
}


@parser("The BMC returned no power reading.")
def parse(output: str) -> list[Draft]:
    run = Draft()
    log: dict[str, SampleSummary] = defaultdict(SampleSummary)
    block: dict[str, MatchedLine] = {}
    for line in LINES(output):
        if line.kind == "failed":
            run.add_warning(
                "failed", 'The tool printed "{text}".', text=line.text.strip()
            )
        elif line.kind == "period":
            run.facts["sampling period"] = line["period"].strip().rstrip(".")
        elif line.kind == "state":
            _read(line, block, run, log)
            block = {}
        else:
            if line.kind == "now" and block:
                first = next(iter(block.values()))
                raise first.parse_error("the reading that starts here has no state.")
            block[line.kind] = line
    if block:
        run.add_warning(
            "cut", "The last reading has no state. It is truncated and was excluded."
        )

    log["now"].add_to(run, "power", "W")
    if samples := len(log["now"].samples):
        run.facts["samples"] = samples
    for kind, (name, chosen) in WINDOWS.items():
        if windows := log[kind].samples:
            run.add(f"window power {name}", chosen(windows), "W")
    return [run]


def _read(
    line: MatchedLine,
    block: dict[str, MatchedLine],
    run: Draft,
    log: dict[str, SampleSummary],
) -> None:
    """Add a reading to ``log`` when its last line, the state, is read."""
    state = line["state"].strip().rstrip(".").casefold()
    if state not in ON:
        line.reject_if_truncated("state")
        run.add_warning(
            "deactivated",
            'The BMC reports that its power reading is "{state}", so the reading '
            "was excluded.",
            state=state,
        )
        return
    if "now" not in block:
        raise line.parse_error("the start of the reading that ends here is missing.")
    for kind, reading in block.items():
        if watts := reading.number(GROUPS[kind]):
            log[kind].append(watts)
        elif kind == "now":
            run.add_warning("not_measured", "Readings of 0 W were excluded.")


TOOL = Tool(
    slug="ipmi-dcmi",
    title="IPMI DCMI",
    homepage="https://codeberg.org/IPMITool/ipmitool",
    metrics=(
        *summary_metrics("power", "W", "power"),
        *(
            Metric(
                f"window power {what}",
                "W",
                "lower",
                "power",
                title=f"Power {what} in the BMC's window",
            )
            for what in ("min", "max", "mean")
        ),
    ),
    aliases=("ipmitool dcmi", "ipmi dcmi power reading", "dcmi"),
    version=2,
    parse=parse,
    signatures=(
        r"Instantaneous power reading *:",
        r"Current Power *: *\S+ [Ww]atts",
        r"Could not open device at /dev/ipmi",
    ),
    programs=("ipmi-dcmi",),
    is_localized=False,
)
