from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str
    items: tuple[str, ...] = ()


def split_paragraphs(documentation: str) -> tuple[Paragraph, ...]:
    """Return the paragraphs of a wrapped text; list items begin with ``- ``."""
    paragraphs: list[Paragraph] = []
    for block in documentation.split("\n\n"):
        paragraphs.append(Paragraph(""))
        for line in block.splitlines():
            paragraphs[-1:] = _with_line(paragraphs[-1], line)
    return tuple(paragraphs)


def _with_line(paragraph: Paragraph, line: str) -> list[Paragraph]:
    text, items = paragraph.text, paragraph.items
    if line.startswith("- "):
        return [Paragraph(text, (*items, line.removeprefix("- ")))]
    if items and line.startswith("  "):
        return [Paragraph(text, (*items[:-1], f"{items[-1]} {line.strip()}"))]
    if items:
        return [paragraph, Paragraph(line)]
    return [Paragraph(f"{text} {line}".strip())]
