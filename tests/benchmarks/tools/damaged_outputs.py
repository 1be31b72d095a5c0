"""Ways in which an output may be damaged, disguised or truncated before upload."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")

# Changes of the bytes or of the text around the lines, but of no number.
DISGUISES: dict[str, Callable[[str], bytes | str]] = {
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "CR": lambda text: text.replace("\n", "\r"),
    "UTF-8 with BOM": lambda text: text.encode("utf-8-sig"),
    "UTF-16 with BOM": lambda text: text.encode("utf-16"),
    "UTF-16-LE": lambda text: text.encode("utf-16-le"),
    "UTF-16-BE": lambda text: text.encode("utf-16-be"),
    "UTF-32": lambda text: text.encode("utf-32"),
    "a BOM in the text": lambda text: f"\ufeff{text}",
    "colours": lambda text: "\n".join(
        f"\x1b[1;32m{line}\x1b[0m\x1b[K" for line in text.split("\n")
    ),
    "a window title": lambda text: f"\x1b]0;root@vm: ~\x07{text}",
    "blank lines": lambda text: f"\n\n{text}\n\n",
    "a prompt": lambda text: f"root@vm:~# run.sh\n{text}root@vm:~# ",
    "timestamps": lambda text: _prefixed(text, "2026-11-20 21:44:36.120 "),
    "ISO timestamps": lambda text: _prefixed(text, "[2026-11-20T21:44:36Z] "),
    "a journal": lambda text: _prefixed(text, "Nov 20 21:44:36 vm run[81]: "),
    "seconds": lambda text: _prefixed(text, "[   71.323769] "),
    "a mail": lambda text: _prefixed(text, "> "),
    "compose": lambda text: _prefixed(text, "vm-1  | "),
    "ts %.s": lambda text: _counted(
        text, lambda n: f"{1763671476.123456 + n * 0.37:.6f} "
    ),
    "ts -i %.s": lambda text: _counted(text, lambda n: f"{n % 7 / 100:.6f} "),
    "kubectl logs --prefix": lambda text: _prefixed(text, "[pod/bench-0/run] "),
    "kubectl logs --prefix --timestamps": lambda text: _prefixed(
        text, "[pod/bench-0/run] 2026-11-20T21:44:36.123456789Z "
    ),
    "pdsh": lambda text: _prefixed(text, "node7: "),
    "mpirun --tag-output": lambda text: _prefixed(text, "[1,0]<stdout>:"),
    "grep -n": lambda text: _counted(text, "{}:".format),
    "grep -Hn": lambda text: _counted(text, "out/run-1.txt:{}:".format),
    "grep -n of a log": lambda text: _counted(text, "{}:21:44:36 ".format),
    "cat -n": lambda text: _counted(text, "{:6}\t".format),
    "cat -n as a terminal shows it": lambda text: _counted(text, "{:6}  ".format),
    "grep -n . (no blank lines)": lambda text: "".join(
        f"{number}:{line}\n" for number, line in enumerate(text.splitlines(), 1) if line
    ),
    "a log behind a prompt": lambda text: "".join(
        ["root@vm:~# run.sh | cat -n\n", _counted(text, "{:6}\t".format), "root@vm:~# "]
    ),
    "a program's log": lambda text: _prefixed(
        text, "2026-11-20 21:44:36,120 - root - INFO - "
    ),
    "two blanks": lambda text: _prefixed(text, "  "),
    "eight blanks": lambda text: _prefixed(text, " " * 8),
    "a tab": lambda text: _prefixed(text, "\t"),
}


def _prefixed(text: str, prefix: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


def _counted(text: str, mark: Callable[[int], str]) -> str:
    lines = enumerate(text.splitlines(), 1)
    return "".join(f"{mark(number)}{line}\n" for number, line in lines)


def cuts(text: str, many: int) -> list[str]:
    """Return the text truncated after some of its lines, and within some of them."""
    ends = [line_end.end() for line_end in re.finditer("\n", text)][:-1]
    positions = [*_spread(ends, many), *_spread(range(1, len(text)), many)]
    return [text[:position] for position in positions]


def _spread(positions: list[int] | range, many: int) -> list[int]:
    step = max(1, len(positions) // many)
    return list(positions[::step])


def with_numbers_replaced(text: str, by: Sequence[str], many: int) -> Iterator[str]:
    """Return the text with some decimal numbers replaced in turn, by each
    replacement.
    """
    numbers = list(DECIMAL.finditer(text))
    step = max(1, len(numbers) // many)
    for turn, piece in enumerate(by):
        for number in numbers[turn * step // len(by) :: step]:
            yield f"{text[: number.start()]}{piece}{text[number.end() :]}"
