"""A campaign as a report: one document of plain texts, printed or typeset."""
