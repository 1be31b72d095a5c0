"""IPMI DCMI: the power that the machine's management controller (BMC) reads.

One line of ``ipmitool dcmi power reading``::

    Instantaneous power reading:                   332 Watts

FreeIPMI's ``ipmi-dcmi --get-system-power-statistics`` and ``ipmiutil dcmi`` are read
too. Whole watts. Minimum, maximum and mean are those of the BMC's own window
(``sampling period``), which is not the benchmark's. A deactivated reading prints
numbers that mean nothing, and 0 W is not the power of a running machine. A log of
readings is summarized.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from statistics import fmean

from benchmarks.parsing.contract import Metric, Tool
from benchmarks.parsing.scanning import Draft, Found, Scanner, parser
from benchmarks.parsing.telemetry import Summary, summary_metrics

_W = r"(?P<{0}>\S+)(?: +[Ww]atts?\b)?"
_WINDOW = (
    r"(?:during sampling period|power reading over sample period"
    r"|[Pp]ower over sampl(?:e|ing) duration)"
)
LINES = Scanner(
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


@parser("The BMC gave no power reading.")
def parse(output: str) -> list[Draft]:
    """Return one run, which summarizes the readings of the BMC."""
    run = Draft()
    log: dict[str, Summary] = defaultdict(Summary)
    block: dict[str, Found] = {}
    for line in LINES(output):
        if line.kind == "failed":
            run.mark("failed", 'It printed "{text}".', text=line.text.strip())
        elif line.kind == "period":
            run.facts["sampling period"] = line["period"].strip().rstrip(".")
        elif line.kind == "state":
            _read(line, block, run, log)
            block = {}
        else:
            # The state of the reading above was not printed.
            if line.kind == "now" and block:
                first = next(iter(block.values()))
                raise first.refused("the reading that begins here has no state.")
            block[line.kind] = line
    if block:
        run.mark("cut", "The last reading has no state: it is cut, and left out.")

    log["now"].add_to(run, "power", "W")
    if samples := len(log["now"].samples):
        run.facts["samples"] = samples
    # The window's own mean of means, least of its leasts, most of its mosts.
    for kind, (name, chosen) in WINDOWS.items():
        if windows := log[kind].samples:
            run.add(f"window power {name}", chosen(windows), "W")
    return [run]


def _read(
    line: Found, block: dict[str, Found], run: Draft, log: dict[str, Summary]
) -> None:
    """Add a whole reading: its state is printed last."""
    state = line["state"].strip().rstrip(".").casefold()
    if state not in ON:
        line.refuse_open("state")
        run.mark(
            "deactivated",
            'The BMC says that its power reading is "{said}": left out.',
            said=state,
        )
        return
    if "now" not in block:
        raise line.refused("the reading that ends here has no beginning.")
    for kind, reading in block.items():
        if watts := reading.number(GROUPS[kind]):
            log[kind].take(watts)
        elif kind == "now":
            run.mark("not_measured", "There are readings of 0 W: left out.")


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
    localized=False,
)
