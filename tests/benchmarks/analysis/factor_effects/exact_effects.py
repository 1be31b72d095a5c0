"""Estimability and estimates in exact rational arithmetic.

Independent of the analysis except for its factors: levels are coded against the
reference instead of the mean.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations

Row = list[Fraction]


def exact_effects(factors, systems, responses):
    """Return every effect in the row space of the systems, by least squares."""
    design = Design(factors, systems)
    pairs = list(combinations(range(len(factors)), 2))
    everything = design.rows(pairs)
    told = [
        pair
        for pair in pairs
        if all(
            estimate(everything, responses, design.wanted(pairs, pair, levels))
            is not None
            for levels in design.changes(pair)
        )
    ]
    rows, found = design.rows(told), {}
    for term in [*((at,) for at in range(len(factors))), *told]:
        for levels in design.changes(term):
            value = estimate(rows, responses, design.wanted(told, term, levels))
            if value is not None:
                names = tuple(factors[at].names for at in term)
                found[names, levels] = float(value)
    return found


class Design:
    """Systems as rows of fractions: mean, factors, pairs, unreported parameters."""

    def __init__(self, factors, systems):
        self.factors = factors
        self.systems = systems
        self.reason_codes = [
            [self._code(factor, factor.level(system)) for factor in factors]
            for system in systems
        ]

    def rows(self, pairs):
        return [self._row(at, pairs) for at in range(len(self.systems))]

    def wanted(self, pairs, term, levels):
        """Return the coefficients of an effect: a change in one factor, averaged over
        the others.

        For two factors: half the difference of differences.
        """
        changed = {
            at: self.factors[at].levels.index(level)
            for at, (level, _) in zip(term, levels, strict=True)
        }
        of_mains = [
            [Fraction(len(term) == 1 and changed.get(at) == level) for level in levels]
            for at, levels in enumerate(self._columns())
        ]
        of_pairs = [
            [self._share(term, changed, pair, (i, j)) for i in one for j in other]
            for pair in pairs
            for one, other in [[self._columns()[at] for at in pair]]
        ]
        known = [Fraction(0), *chain(*of_mains, *of_pairs)]
        return known + [Fraction(0)] * len(self._unstated)

    def changes(self, term):
        steps = [
            [(level, self.factors[at].levels[0]) for level in self.factors[at].levels]
            for at in term
        ]
        if len(term) == 1:
            return [(step,) for step in steps[0][1:]]
        return [(one, other) for one in steps[0][1:] for other in steps[1][1:]]

    def _columns(self):
        return [range(1, len(factor.levels)) for factor in self.factors]

    def _share(self, term, changed, pair, cell):
        if len(term) == 2:
            is_cell = term == pair and cell == tuple(changed[at] for at in pair)
            return Fraction(int(is_cell), 2)
        (at,) = term
        if at not in pair or changed[at] != cell[pair.index(at)]:
            return Fraction(0)
        partner = pair[1 - pair.index(at)]
        return Fraction(1, len(self.factors[partner].levels))

    def _row(self, at, pairs):
        codes = self.reason_codes[at]
        products = [
            x * y for one, other in pairs for x in codes[one] for y in codes[other]
        ]
        unstated = [column[at] for column in self._unstated]
        return [Fraction(1), *chain(*codes), *products, *unstated]

    @cached_property
    def _unstated(self):
        """Return the coefficient of systems without a factor, unless others
        determine it."""
        found = []
        for at, factor in enumerate(self.factors):
            missing = [Fraction(not factor.level(each)) for each in self.systems]
            others = [
                [Fraction(1), *chain(*codes[:at], *codes[at + 1 :])]
                for codes in self.reason_codes
            ]
            equations = [[*row, m] for row, m in zip(others, missing, strict=True)]
            if solved(equations) is None:
                found.append(missing)
        return found

    @staticmethod
    def _code(factor, level) -> Row:
        if not level:
            return [Fraction(1, len(factor.levels))] * (len(factor.levels) - 1)
        return [Fraction(level == each) for each in factor.levels[1:]]


def estimate(rows: Sequence[Row], responses, wanted: Row) -> Fraction | None:
    """Return wanted'b by least squares (wanted = X'X l, then l'X'y); None if not
    estimable."""
    columns = list(zip(*rows, strict=True))
    equations = [
        [*(dot(column, other) for other in columns), target]
        for column, target in zip(columns, wanted, strict=True)
    ]
    solution = solved(equations)
    if solution is None:
        return None
    return dot(solution, [dot(column, responses) for column in columns])


def solved(equations: Sequence[Row]) -> Row | None:
    """Return a solution of linear equations (right side last), or None."""
    rows = [list(map(Fraction, row)) for row in equations]
    width = len(rows[0]) - 1
    pivots: list[int] = []
    for column in range(width):
        top = len(pivots)
        found = next((at for at in range(top, len(rows)) if rows[at][column]), None)
        if found is None:
            continue
        rows[top], rows[found] = rows[found], rows[top]
        pivot = rows[top][column]
        rows[top] = [value and value / pivot for value in rows[top]]
        for at, row in enumerate(rows):
            if at != top and (factor := row[column]):
                pairs = zip(row, rows[top], strict=True)
                rows[at] = [x - factor * y if y else x for x, y in pairs]
        pivots.append(column)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    solution = [Fraction(0)] * width
    for row, column in zip(rows, pivots, strict=False):
        solution[column] = row[-1]
    return solution


def dot(one, other) -> Fraction:
    pairs = zip(one, other, strict=True)
    return sum((x * y for x, y in pairs if x and y), Fraction(0))
