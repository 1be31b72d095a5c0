"""The texts of a report."""


def texts(section):
    """Return every text of a section's tables."""
    return [
        text
        for table in section.tables
        for line in (*table.header_rows, *table.rows)
        for entry in line.cells
        for text in (entry.text, entry.subtext)
        if text
    ]


def part(document, name):
    """Return the section with this name."""
    (found,) = [each for each in document.sections if each.name == name]
    return found
