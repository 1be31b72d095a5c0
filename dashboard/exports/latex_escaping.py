"""Escaping of text for LaTeX and BibTeX. PURE.

Characters outside pdfLaTeX's T1 fonts become commands such as
``\\virtlabchar{1488}{05D0}``, which prints the character in XeLaTeX and LuaLaTeX and
its code in pdfLaTeX.
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
# Pairs that T1 fonts replace by one character.
LIGATURES = ("--", ",,")
MISSING_IN_T1 = "ĦħĸĿŀŉŦŧ\N{DIVISION SIGN}"
CHARACTER_COMMAND = (
    r"\providecommand{\virtlabchar}[2]"
    r"{\ifdefined\Umathcode\symbol{#1}\else[U+#2]\allowbreak\fi}"
)


def escape_latex(text: str) -> str:
    line = " ".join(part for part in text.split(" ") if part)
    for pair in LIGATURES:
        # NUL is a placeholder for an empty group ({}), because braces would be escaped.
        line = line.replace(pair[0], f"{pair[0]}\0") if pair in line else line
    return "".join(map(_escape_character, line)).replace("\0", "{}")


def _escape_character(character: str) -> str:
    if character in SPECIAL or character == "\0":
        return SPECIAL.get(character, character)
    # T1 contains nearly all of Latin-1 and Latin Extended-A.
    is_in_t1 = "À" <= character <= "ž" and character not in MISSING_IN_T1
    if " " <= character <= "\x7e" or is_in_t1:
        return character
    if character.isspace():
        return " "
    if unicodedata.category(character) in ("Cc", "Cf", "Cs"):
        return ""
    return rf"\virtlabchar{{{ord(character)}}}{{{ord(character):04X}}}"
