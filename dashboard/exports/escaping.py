"""Any text as the same text in LaTeX and BibTeX. PURE.

What it returns compiles with pdfLaTeX, XeLaTeX and LuaLaTeX alike: letters that
pdfLaTeX's T1 fonts have are left as they are, further ones are written as
``\\virtlabchar{1488}{05D0}``, which newer engines show and pdfLaTeX names.
"""

import unicodedata

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "\N{NO-BREAK SPACE}": "~",
    "\N{MIDDLE DOT}": r"\textperiodcentered{}",
    "\N{MINUS SIGN}": "$-$",
    "\N{MULTIPLICATION SIGN}": r"\texttimes{}",
    "\N{PLUS-MINUS SIGN}": r"\textpm{}",
    "\N{MICRO SIGN}": r"\textmu{}",
    "\N{DEGREE SIGN}": r"\textdegree{}",
    "\N{SUPERSCRIPT TWO}": r"\texttwosuperior{}",
    "\N{SUPERSCRIPT THREE}": r"\textthreesuperior{}",
    "\N{EN DASH}": r"\textendash{}",
    "\N{EM DASH}": r"\textemdash{}",
    "\N{HORIZONTAL ELLIPSIS}": r"\textellipsis{}",
    "\N{BULLET}": r"\textbullet{}",
    "\N{LEFT SINGLE QUOTATION MARK}": r"\textquoteleft{}",
    "\N{RIGHT SINGLE QUOTATION MARK}": r"\textquoteright{}",
    "\N{LEFT DOUBLE QUOTATION MARK}": r"\textquotedblleft{}",
    "\N{RIGHT DOUBLE QUOTATION MARK}": r"\textquotedblright{}",
    "\N{EURO SIGN}": r"\texteuro{}",
    "\N{LESS-THAN OR EQUAL TO}": r"$\leq$",
    "\N{GREATER-THAN OR EQUAL TO}": r"$\geq$",
    "\N{RIGHTWARDS ARROW}": r"\textrightarrow{}",
    "\N{GREEK SMALL LETTER TAU}": r"$\tau$",
}
# What T1's ligatures would make one character of.
LIGATURES = ("--", ",,")
MISSING_IN_T1 = "ĦħĸĿŀŉŦŧ\N{DIVISION SIGN}"
OTHER_CHARACTER = (
    r"\providecommand{\virtlabchar}[2]"
    r"{\ifdefined\Umathcode\symbol{#1}\else[U+#2]\allowbreak\fi}"
)


def tex(text: str) -> str:
    """Return a text for LaTeX, on one line: nothing of it is a command."""
    line = " ".join(part for part in text.split(" ") if part)
    for pair in LIGATURES:
        # A NUL stands for the empty group, whose braces would be escaped with the rest.
        line = line.replace(pair[0], f"{pair[0]}\0") if pair in line else line
    return "".join(map(_tex, line)).replace("\0", "{}")


def _tex(character: str) -> str:
    if character in SPECIAL or character == "\0":
        return SPECIAL.get(character, character)
    # Of Latin-1 and Latin Extended-A, LaTeX's T1 encoding has nearly every letter.
    is_in_t1 = "À" <= character <= "ž" and character not in MISSING_IN_T1
    if " " <= character <= "\x7e" or is_in_t1:
        return character
    if character.isspace():
        return " "
    if unicodedata.category(character) in ("Cc", "Cf", "Cs"):
        return ""
    return rf"\virtlabchar{{{ord(character)}}}{{{ord(character):04X}}}"
