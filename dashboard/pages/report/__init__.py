"""A study as a report: one document of plain texts, printed or typeset."""
