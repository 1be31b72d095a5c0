"""Start times of runs, as printed by their tools. PURE.

Seconds since 1970 are unambiguous. Times of the machine's clock need a time zone.
"""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

_CLOCK: Final = (
    r"(?P<clock>(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})"
)
_ISO: Final = r"(?P<iso>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)"
_SECONDS: Final = r"(?P<seconds>\d{9,11})"
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
    tool: tuple(re.compile(pattern, re.MULTILINE | re.ASCII) for pattern in patterns)
    for tool, patterns in _PRINTED.items()
}
_ANY_CLOCK: Final = re.compile(f"{_CLOCK}|{_ISO}", re.ASCII)
# fio prints its runtime and the time when it ended.
_FIO_LASTED: Final = re.compile(
    r'"job_runtime" *: *(\d{1,12})|\brun=\d{1,12}-(\d{1,12})msec', re.ASCII
)
# Earlier times are other numbers that look like a time.
_EARLIEST: Final = datetime(1990, 1, 1)  # noqa: DTZ001 - of any time zone


def printed_start(tool: str, text: str) -> datetime | None:
    """Return the printed start of the first run, or None.

    It is naive if the output has no time zone.
    """
    for pattern in _PATTERNS.get(tool, ()):
        if match := pattern.search(text):
            moment = _moment(match.groupdict())
            if moment and tool == "fio":
                runtimes_ms = [
                    int(json_ms or text_ms)
                    for json_ms, text_ms in _FIO_LASTED.findall(text)
                ]
                moment -= timedelta(milliseconds=max(runtimes_ms, default=0))
            return moment
    return None


def _moment(printed: dict[str, str | None]) -> datetime | None:
    (form, text), *_ = ((name, value) for name, value in printed.items() if value)
    try:
        if form == "seconds":
            moment = datetime.fromtimestamp(int(text), UTC)
        elif form == "gmt":
            moment = datetime.strptime(text, "%d %b %Y %H:%M:%S").replace(tzinfo=UTC)
        elif form == "iso":
            moment = datetime.fromisoformat(text)
        else:
            # The day of the week is ignored, because it may be wrong.
            moment = datetime.strptime(text[4:], "%b %d %H:%M:%S %Y")  # noqa: DTZ007
    except (OverflowError, ValueError):
        return None
    return moment if moment.replace(tzinfo=None) > _EARLIEST else None


def has_clock_time(text: str) -> bool:
    return _ANY_CLOCK.search(text) is not None


def in_time_zone(moment: datetime | None, zone: str) -> datetime | None:
    """Return an aware time, or None if a naive one has no known IANA ``zone``."""
    if moment is None or moment.tzinfo:
        return moment
    tz = time_zone(zone)
    return moment.replace(tzinfo=tz).astimezone(UTC) if tz else None


def time_zone(name: str) -> tzinfo | None:
    # This import looks up how Python was built, and is rarely needed.
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name) if name else None
    # An invalid name may be a path, or a folder of zoneinfo.
    except (KeyError, OSError, ValueError):
        return None
