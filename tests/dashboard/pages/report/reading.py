"""What stands in a report, whoever shows it."""


def texts(section):
    """Return every text of a section's tables."""
    return [
        text
        for table in section.tables
        for line in (*table.head, *table.lines)
        for entry in line.entries
        for text in (entry.text, entry.sub)
        if text
    ]


def part(document, name):
    """Return the section of a name."""
    (found,) = [each for each in document.sections if each.name == name]
    return found
