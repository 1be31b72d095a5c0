"""Days and moments as their reader writes them, whatever the language of the text."""

import re
from datetime import date, datetime

from django.utils import dateformat

from dashboard.kit import figures

DAY_OF_MONTH = re.compile(r"[dj][^A-Za-z]*")
# How a study states when it was published, as far as it knows.
DAY, MONTH = "%Y-%m-%d", "%Y-%m"


def day_text(at: date) -> str:
    """Return a day."""
    return dateformat.format(at, figures.locale().day)


def moment_text(at: datetime | None) -> str:
    """Return a day and its time, to the minute, with the zone; nothing for None."""
    return dateformat.format(at, f"{figures.locale().day} H:i e") if at else ""


def published_text(published: str) -> str:
    """Return when a study was published: a day or a month; any other text as it is."""
    if (day := _date(published, DAY)) is not None:
        return day_text(day)
    if (month := _date(published, MONTH)) is not None:
        return dateformat.format(month, _format_of_months())
    return published


def _date(text: str, form: str) -> date | None:
    try:
        return datetime.strptime(text, form).date()  # noqa: DTZ007 (a day has no zone)
    except ValueError:
        return None


def _format_of_months() -> str:
    """Return how the reader writes a day, without the day."""
    return DAY_OF_MONTH.sub("", figures.locale().day).rstrip("-./ ")
