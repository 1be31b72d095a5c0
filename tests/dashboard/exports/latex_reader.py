"""Strict parser for the subset of LaTeX in exports; it rejects more than TeX."""

import re
from dataclasses import dataclass, field

TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|[{}$&#%_^~]|\n|[^\\{}$&#%_^~\n]+")
TABLES = ("tblr", "longtblr", "tabular")
COMMANDS = {
    *("begin", "end", "begingroup", "endgroup", "par", "linewidth", "hspace"),
    *("fontsize", "selectfont", "bfseries", "itshape", "rlap", "allowbreak"),
    *("virtlabfonts", "virtlabsmall", "virtlabchar", "virtlabnote", "SetCell"),
    *("toprule", "midrule", "bottomrule", "cmidrule", "sisetup", "label", "caption"),
    *("nopagebreak", "noindent", "smallskip", "smallskipamount", "raggedright"),
    *("providecommand", "def", "ifdim", "ifdefined", "Umathcode", "symbol", "else"),
    *(
        "multicolumn",
        "centering",
        "arraybackslash",
        "dimexpr",
        "setlength",
        "tabcolsep",
    ),
    *("fi", "relax", "leq", "geq", "tau", "clearpage"),
}


@dataclass
class Reading:
    """Parsed environments, and the columns of each table row."""

    depth: int = 0
    in_math: bool = False
    open: list[tuple[str, int]] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    width: int = 0


def read(text: str) -> Reading:
    """Parse a complete fragment, or raise an error."""
    it = Reading()
    lines = [line for line in text.splitlines() if not line.startswith("% ")]
    tokens = TOKEN.findall("\n".join(lines))
    assert "".join(tokens) == "\n".join(lines)
    for at, token in enumerate(tokens):
        _take(it, token, tokens[at + 1 : at + 4])
    assert (it.depth, it.in_math, it.open) == (0, False, [])
    return it


def _take(it: Reading, token: str, after: list[str]) -> None:
    if token in "{}":
        it.depth += 1 if token == "{" else -1
        assert it.depth >= 0, "a brace too many is closed"
    elif token == "$":
        it.in_math = not it.in_math
    elif token == "&":
        assert _is_row(it), "an & outside a row"
        it.width += 1
    elif token == "\\\\" and _is_row(it):
        it.widths.append(it.width + 1)
        it.width = 0
    elif token in ("_", "^"):
        assert it.in_math, f"{token} outside of math"
    elif token == "#":
        assert "".join(after)[:1] in ("1", "2"), "a parameter outside a definition"
    elif token.startswith("\\") and token[1].isalpha():
        _command(it, token[1:], after)
    else:
        assert token != "%", "a comment swallows the line"
        assert '"' not in token, "a quotation mark that babel may make active"


def _is_row(it: Reading) -> bool:
    return bool(it.open) and it.open[-1] == (it.open[-1][0], it.depth)


def _command(it: Reading, name: str, after: list[str]) -> None:
    if name == "begin":
        if after[1] in TABLES or after[1] in ("table", "table*"):
            it.open.append((after[1], it.depth))
    elif name == "end":
        assert it.open[-1:] == [(after[1], it.depth)], f"{after[1]} is not open here"
        it.closed.append(it.open.pop()[0])
    else:
        assert name in COMMANDS or name.startswith("text"), name
