"""IPMI DCMI: the power that the machine's management controller (BMC) reads.

One line of ``ipmitool dcmi power reading``::

    Instantaneous power reading:                   332 Watts

FreeIPMI's ``ipmi-dcmi --get-system-power-statistics`` and ``ipmiutil dcmi`` are read
too. Whole watts. Minimum, maximum and mean are those of the BMC's own window
(``sampling period``), which is not the benchmark's. A deactivated reading prints
numbers that mean nothing.
"""

from benchmarks.tools.base import Metric, Tool
from benchmarks.tools.parser import Draft, ParsedRun, Parser, finished
from benchmarks.tools.scan import Found, Scanner

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
METRICS = {
    "now": ("power", "power"),
    "least": ("window power min", "window_min"),
    "most": ("window power max", "window_max"),
    "mean": ("window power mean", "window_mean"),
}
ON = {"activated", "active"}


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run; each reading of the BMC in it is a repetition."""
    run = Draft()
    block: dict[str, Found] = {}
    for line in LINES(output):
        if line.kind == "failed":
            run.mark("failed", f'It printed "{line.text.strip()}".')
        elif line.kind == "period":
            run.facts["sampling period"] = line["period"].strip().rstrip(".")
        elif line.kind == "state":
            _read(line, block, run)
            block = {}
        else:
            if line.kind == "now" and block:
                first = next(iter(block.values()))
                raise first.refused("the reading that begins here has no state.")
            block[line.kind] = line
    if block:
        run.mark("cut", "The last reading has no state: it is cut, and left out.")
    return finished([run], "The BMC gave no power reading.")


def _read(state: Found, block: dict[str, Found], run: Draft) -> None:
    said = state["state"].strip().rstrip(".").casefold()
    if said not in ON:
        if state.is_open("state"):
            raise state.refused("the text ends within this line.")
        run.mark(
            "deactivated", f'The BMC says that its power reading is "{said}": left out.'
        )
        return
    if "now" not in block:
        raise state.refused("the reading that ends here has no beginning.")
    for kind, line in block.items():
        metric, group = METRICS[kind]
        run.add(metric, line.number(group), "W")


TOOL = Tool(
    slug="ipmi-dcmi",
    title="IPMI DCMI",
    homepage="https://codeberg.org/IPMITool/ipmitool",
    metrics=(
        Metric(name="power", unit="W", better="lower", component="power"),
        *(
            Metric(
                name=f"window power {what}",
                unit="W",
                better="lower",
                component="power",
                title=f"Power {what} in the BMC's window",
            )
            for what in ("min", "max", "mean")
        ),
    ),
    aliases=("ipmitool dcmi", "ipmi dcmi power reading", "dcmi"),
    parser=Parser(
        version=1,
        parse=parse,
        signatures=(
            r"Instantaneous power reading *:",
            r"Current Power *: *\S+ [Ww]atts",
            r"Could not open device at /dev/ipmi",
        ),
        programs=("ipmi-dcmi",),
        localized=False,
    ),
)
