"""When a run began, where its tool prints it. PURE.

Some print seconds since 1970, which are a moment wherever one is; others the time of
their machine's clock, which is one only in a time zone that somebody names::

    rr: (groupid=0, jobs=1): err= 0: pid=12727: Fri Nov 20 21:40:26 2026
"""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

_CLOCK: Final = (
    r"(?P<clock>(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})"
)
_ISO: Final = r"(?P<iso>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)"
_SECONDS: Final = r"(?P<seconds>\d{9,11})"
# What each prints, most exact first.
_PRINTED: Final = {
    "bonnie": (rf"^\d[\w.]*,\d[\w.]*,[^,\n]*,\d*,{_SECONDS},",),
    "fio": (
        rf'^ *"timestamp" *: *{_SECONDS}',
        rf"err= *\d+ ?(?:\([^\n]*\))?: pid=\d+: {_CLOCK}",
    ),
    "hpcc": (rf"^Current time \({_SECONDS}\)",),
    "hpl": (rf"start time {_CLOCK}",),
    "iometer": (rf"^'Time Stamp\r?\n{_ISO}",),
    "iozone": (rf"Run began: {_CLOCK}",),
    "iperf3": (
        rf'"timesecs"\s*:\s*{_SECONDS}',
        r"^Time: \w{3}, (?P<gmt>\d\d \w{3} \d{4} [\d:]{8}) GMT",
    ),
    "intel-linpack": (rf"^Current date/time: {_CLOCK}",),
}
_PATTERNS: Final = {
    tool: tuple(re.compile(one, re.MULTILINE | re.ASCII) for one in patterns)
    for tool, patterns in _PRINTED.items()
}
_ANY_CLOCK: Final = re.compile(f"{_CLOCK}|{_ISO}", re.ASCII)
# fio prints the moment at which it sums up, and how long it ran until then.
_FIO_LASTED: Final = re.compile(
    r'"job_runtime" *: *(\d{1,12})|\brun=\d{1,12}-(\d{1,12})msec', re.ASCII
)
# What reads as a moment before it is the number of something else.
_EARLIEST: Final = datetime(1990, 1, 1)  # noqa: DTZ001 - of any time zone


def printed_start(tool: str, text: str) -> datetime | None:
    """Return when an output's first run began, or None; naive without a zone."""
    for pattern in _PATTERNS.get(tool, ()):
        if found := pattern.search(text):
            moment = _moment(found.groupdict())
            if moment and tool == "fio":
                lasted = [int(one or other) for one, other in _FIO_LASTED.findall(text)]
                moment -= timedelta(milliseconds=max(lasted, default=0))
            return moment
    return None


def _moment(printed: dict[str, str | None]) -> datetime | None:
    (form, text), *_ = ((name, one) for name, one in printed.items() if one)
    try:
        if form == "seconds":
            moment = datetime.fromtimestamp(int(text), UTC)
        elif form == "gmt":
            moment = datetime.strptime(text, "%d %b %Y %H:%M:%S").replace(tzinfo=UTC)
        elif form == "iso":
            moment = datetime.fromisoformat(text)
        else:
            # The day of the week may be wrong without harm; no zone is printed.
            moment = datetime.strptime(text[4:], "%b %d %H:%M:%S %Y")  # noqa: DTZ007
    except (OverflowError, ValueError):
        return None
    return moment if moment.replace(tzinfo=None) > _EARLIEST else None


def prints_clock(text: str) -> bool:
    """Whether a text has a time of a machine's clock."""
    return _ANY_CLOCK.search(text) is not None


def placed(moment: datetime | None, zone: str) -> datetime | None:
    """Return a printed start as a moment; None without a known IANA ``zone``."""
    if moment is None or moment.tzinfo:
        return moment
    known = time_zone(zone)
    return moment.replace(tzinfo=known).astimezone(UTC) if known else None


def time_zone(name: str) -> tzinfo | None:
    """Return the time zone of that name, if there is one."""
    # Here, for it looks up how Python was built, which most readers never need.
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name) if name else None
    # What is no name may be a path to it, or a folder of theirs; else it is a KeyError.
    except (KeyError, OSError, ValueError):
        return None
