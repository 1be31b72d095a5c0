"""Search for user-visible texts that cannot be extracted for translation.

The domain does not use gettext: user-visible texts are `Sentence` objects with one
template each.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from babel.messages.extract import DEFAULT_KEYWORDS

from dashboard.management.commands.write_messages import KEYWORDS

# Functions that create sentences, with their number of templates.
MAKERS = {"Sentence": 1, "template": 1, "pluralized": 2}
MARKERS = {*MAKERS, "_", "gettext", "gettext_lazy", "ngettext"}
MARKERS |= {"ngettext_lazy", "pgettext_lazy"}
# Functions that create a sentence from a template and values.
MAKES_SENTENCES = KEYWORDS.keys() - DEFAULT_KEYWORDS.keys() - MARKERS
# Functions other than errors with a user-visible text, and its argument.
TAKERS = {
    "add_warning": slice(1, 2),
    "add_failure": slice(1, 2),
    "bundle_error": slice(0, 1),
    "finish": slice(-1, None),
    "finish_drafts": slice(-1, None),
    "line_error_at": slice(2, 3),
    "parse_error": slice(0, 1),
    "parser": slice(0, 1),
}
# Texts for administrators, in a shell or a log.
FOR_PROGRAMMERS = {
    "AssertionError",
    "CommandError",
    "DistributionError",
    "ExportError",
    "KeyError",
    "OAuth2Error",
    "TypeError",
    "UnknownNameError",
    "ValueError",
}
PLACE = re.compile(r"\{[^{}]*\}")
WORD = re.compile(r"[^\W\d_]{2,}")


def bare_words(*folders: Path) -> Iterator[str]:
    """Yield the location of each text that is not extracted for translation."""
    for path in (path for folder in folders for path in folder.rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        marked = set(_marked_names(nodes))
        for node in nodes:
            if isinstance(node, ast.JoinedStr) and any(map(_is_marked, ast.walk(node))):
                yield f"{path}, line {node.lineno}: a text within an f-string."
            if not isinstance(node, ast.Call):
                continue
            name = _called(node)
            is_made = isinstance(node.func, ast.Name) and name in MAKERS
            if is_made and _hides_words(node.args[: MAKERS[name]], marked):
                yield (
                    f"{path}, line {node.lineno}: the template of a sentence must "
                    "stand there as one text, or be marked with template() where it "
                    "stands."
                )
            templates = _templates(node, name)
            if any(map(_is_put_together, templates)):
                yield f"{path}, line {node.lineno}: a template must be one text."
            taken = [item for item in _taken(node, name) if item not in templates]
            if any(map(_is_bare, taken)):
                yield f"{path}, line {node.lineno}: people must read a Sentence."


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _is_marked(node: ast.AST) -> bool:
    """Return whether a text is translated in place."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return (
        is_call and node.func.id in MARKERS and isinstance(node.args[0], ast.Constant)
    )


def _has_words(text: str) -> bool:
    return bool(WORD.search(PLACE.sub(" ", text)))


def _templates(call: ast.Call, name: str) -> list[ast.expr]:
    """Return the arguments of a call that become templates: Babel extracts them."""
    places = (KEYWORDS[name] or (1,)) if name in MAKES_SENTENCES else ()
    return [arg for at in places for arg in call.args[at - 1 : at]]


def _taken(call: ast.Call, name: str) -> list[ast.expr]:
    """Return the user-visible arguments of errors, warnings and rejections."""
    # In errors with a template, other texts are codes.
    is_ours = name.endswith("Error") and name not in MAKES_SENTENCES | FOR_PROGRAMMERS
    return call.args[:1] if is_ours else call.args[TAKERS.get(name, slice(0))]


def _is_bare(given: ast.expr) -> bool:
    """Return whether an argument has words outside of a sentence."""
    is_text = isinstance(given, ast.Constant) and isinstance(given.value, str)
    is_text = is_text and _has_words(ast.literal_eval(given))
    return is_text or (isinstance(given, ast.JoinedStr) and _is_hidden(given))


def _is_put_together(given: ast.expr) -> bool:
    """Return whether a template is computed, so that Babel cannot extract it."""
    if isinstance(given, ast.IfExp):
        return any(map(_is_bare, (given.body, given.orelse)))
    if isinstance(given, ast.BinOp):
        return any(map(_is_bare, (given.left, given.right)))
    return isinstance(given, ast.JoinedStr) and _is_hidden(given)


def _marked_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that are set by `template()` or annotated as a `Template`."""
    for node in nodes:
        if isinstance(node, ast.arg) and isinstance(node.annotation, ast.Name):
            if node.annotation.id == "Template":
                yield node.arg
        elif (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and _called(node.value) == "template"
        ):
            yield from (e.id for e in node.targets if isinstance(e, ast.Name))


def _hides_words(templates: list[ast.expr], marked: set[str]) -> bool:
    templates = [e for e in templates if getattr(e, "id", None) not in marked]
    are_texts = all(isinstance(template, ast.Constant) for template in templates)
    return not are_texts and any(map(_is_hidden, templates))


def _is_hidden(given: ast.expr) -> bool:
    """Return whether an argument has words that are not marked."""
    if isinstance(given, ast.JoinedStr):
        parts = [e.value if isinstance(e, ast.Constant) else "0" for e in given.values]
        return _has_words("".join(map(str, parts)))
    if isinstance(given, ast.IfExp):
        return _is_hidden(given.body) or _is_hidden(given.orelse)
    return not _is_constant(given)


def _is_constant(given: ast.expr) -> bool:
    """Return whether an argument is a module constant, or an entry of one."""
    named = given.value if isinstance(given, ast.Subscript) else given
    return isinstance(named, ast.Name) and named.id.isupper()


def texts_of_calls(*folders: Path) -> Iterator[str]:
    """Yield the templates in calls, as Python parses them."""
    for path in (path for folder in folders for path in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                for given in _templates(node, _called(node)):
                    if isinstance(given, ast.Constant):
                        yield given.value
