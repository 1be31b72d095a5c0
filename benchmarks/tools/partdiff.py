"""partdiff: a partial differential equation solved by Gauss-Seidel or Jacobi.

Only the command contains the number of threads or processes. The residuum is a fact,
because it does not depend on the machine.
"""

import re
from typing import Final

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import FLOATING_POINT, Metric, Parameter, Tool

_TIME: Final = r"(?:Calculation time|Calculating time|Berechnungszeit)"
_MEMORY: Final = r"Memory usage|Memory requirement|Speicherbedarf"
_METHOD: Final = r"Calculation method|Calculating method|Berechnungsmethode"
LINES = LineScanner(
    command=r"[^\n]{0,200}?\bpartdiff[\w.-]{0,30} +(?P<threads>\d+) +[12] +\d+ +[12] "
    r"+(?P<term>[12]) +(?P<limit>\S+)",
    time=rf"{_TIME}: +(?P<time>\S+) s\b",
    memory=rf"(?:{_MEMORY}): +(?P<memory>\S+) MiB",
    method=rf"(?:{_METHOD}): +(?P<method>Jacobi|Gau[^\s-]{{1,3}}-Seidel)",
    interlines=r"Interlines: +(?P<interlines>\S+)",
    function=r"(?:Perturbation function|Inference function|Interference function"
    r"|Stoerfunktion|St\S{1,2}rfunktion): +(?P<function>f[^\n]*)",
    termination=r"(?:Termination|Terminierung): +(?P<termination>\S[^\n]*)",
    iterations=r"(?:Number (?:of )?iterations|Anzahl (?:der )?Iterationen): +"
    r"(?P<iterations>\S+)",
    residuum=r"(?:Residuum|Residual|Norm des Fehlers|Norm of (?:the )?error|Error norm)"
    r": +(?P<residuum>\S+)",
)
_MPI: Final = re.compile(r"\s-(?:np|n|-np) +(\d{1,6})\s", re.ASCII)
# "%e" prints 3.544251e-03.
_BEHIND_POINT: Final = len("544251e-03")


@parser("partdiff printed no time followed by a residual.")
def parse(output: str) -> list[Draft]:
    runs = [Draft()]
    command_parameters: dict[str, Parameter] = {}
    lines: dict[str, MatchedLine] = {}
    for line in LINES(output):
        if line.kind == "command":
            command_parameters = {}
            if threads := line.integer("threads"):
                command_parameters["threads"] = threads
            if processes := _MPI.search(line.text):
                command_parameters["processes"] = int(processes[1])
            if line["term"] == "1":
                command_parameters["accuracy"] = line["limit"]
        elif line.kind == "residuum":
            append_limited(runs, Draft(parameters=dict(command_parameters)))
            runs[-1].read_line(_read, lines | {"residuum": line}, runs[-1])
            lines = {}
        else:
            lines = {} if line.kind == "time" else lines
            lines[line.kind] = line
    return runs


def _read(lines: dict[str, MatchedLine], run: Draft) -> None:
    if "time" not in lines:
        return
    time = lines["time"].number("time")
    run.facts["residuum"] = lines["residuum"].number("residuum", _BEHIND_POINT)
    if memory := lines.get("memory"):
        run.facts["memory MiB"] = memory.number("memory")
    if method := lines.get("method"):
        # Gauß has several spellings and encodings.
        is_jacobi = method["method"] == "Jacobi"
        run.parameters["method"] = "Jacobi" if is_jacobi else "Gauss-Seidel"
    if interlines := lines.get("interlines"):
        run.parameters["interlines"] = interlines.integer("interlines")
    if function := lines.get("function"):
        # The sine function is 2pi^2*sin(pi*x)sin(pi*y), with any spacing.
        text = function["function"]
        formula = text.partition("=")[2].strip() or text
        run.parameters["function"] = "sine" if "sin(" in text else formula
    is_by_iterations = True
    if termination := lines.get("termination"):
        is_by_iterations = "iteration" in termination["termination"].casefold()
        criterion = "iterations" if is_by_iterations else "accuracy"
        run.parameters["termination"] = criterion
    if iterations := lines.get("iterations"):
        target = run.parameters if is_by_iterations else run.facts
        target["iterations"] = iterations.integer("iterations")
    run.add("time", time, "s")


TOOL = Tool(
    slug="partdiff",
    title="partdiff",
    homepage="https://github.com/parcio/partdiff",
    metrics=(Metric("time", "s", "lower", "CPU", work_class=FLOATING_POINT),),
    aliases=("partdiff-seq", "partdiff-par"),
    labels=("{method}", "{interlines} interlines"),
    version=2,
    parse=parse,
    signatures=(
        rf"{_TIME}: +\S+ s[ \t]*+(?=\n\s{{0,80}}(?:{_MEMORY}|{_METHOD}): )",
        rf"(?:{_METHOD}): +(?:Jacobi|Gau\S{{1,3}}-Seidel)",
    ),
    programs=tuple(
        f"partdiff{variant}"
        for variant in ("", "-seq", "-par", "-openmp", "-posix", "-mpi", "-hybrid")
    ),
)
