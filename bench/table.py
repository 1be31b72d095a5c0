"""A table of the calibration report."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A title, what the numbers mean, and the numbers as texts.

    The first column names the rows.
    """

    title: str
    text: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """Return the table as a section of a page."""
        ruler = ("---", *("---:" for _ in self.columns[1:]))
        lines = (
            f"| {' | '.join(each)} |" for each in (self.columns, ruler, *self.rows)
        )
        return "\n".join([f"## {self.title}", "", self.text, "", *lines])


def percent(share: float, digits: int = 1) -> str:
    """Return a share as a number of percent: 0.951 is 95.1."""
    return f"{100 * share:.{digits}f}"
