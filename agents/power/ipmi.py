"""IPMI DCMI: what a server's own controller says of the machine's power.

``ipmitool dcmi power reading``. Whole watts, of the whole machine. A controller that
says `deactivated`, or 0 W of a machine that runs, has not measured.
"""

import re
import shutil
import subprocess

from agents.power.source import MissedError, Reading, Source, SourceError
from agents.programs import Ended, ended
from agents.timing.clocks import monotonic_us

ARGV = ("ipmitool", "dcmi", "power", "reading")
PATIENCE_S = 5.0
_WATTS = re.compile(r"Instantaneous power reading:\s*(\d+)\s*Watts?")
_STATE = re.compile(r"Power reading state is:\s*(\w+)")


class IpmiDcmi(Source):
    """The controller of this machine, asked again and again."""

    kind = "ipmi-dcmi"
    channels = ["machine"]
    total = ["machine"]

    def open(self) -> None:
        if shutil.which(ARGV[0]) is None:
            raise SourceError("There is no ipmitool here: apt install ipmitool")
        try:
            self.read()
        except MissedError as missed:
            raise SourceError(
                "%s. It needs root, the module ipmi_si (modprobe ipmi_devintf ipmi_si) "
                "and a controller that can measure power." % missed
            ) from None

    def read(self) -> Reading:
        before_us = monotonic_us()
        done = _asked()
        moment_us = (before_us + monotonic_us()) // 2
        return Reading(moment_us, [watts_of(done.printed, done.complaint)])


def watts_of(output: str, complaint: str = "") -> float:
    """Return the power a controller told; MissedError if it told none."""
    found, state = _WATTS.search(output), _STATE.search(output)
    if found is None:
        said = (complaint or output).strip().splitlines()[:1] or ["nothing"]
        raise MissedError("ipmitool says: %s" % said[0].strip())
    if state is None or state.group(1) != "activated":
        raise MissedError("the controller's power reading is deactivated")
    if not int(found.group(1)):
        raise MissedError("the controller says 0 W: it does not measure")
    return float(found.group(1))


def _asked() -> Ended:
    try:
        return ended(list(ARGV), PATIENCE_S)
    except OSError as error:
        raise MissedError("ipmitool does not start: %s" % error.strerror) from None
    except subprocess.TimeoutExpired:
        raise MissedError("ipmitool did not end in %g s" % PATIENCE_S) from None
