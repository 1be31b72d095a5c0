"""Regular two-level designs: every contrast, and what cannot be told from it.

In a full design of k factors each of the 2^k - 1 products of columns is a contrast of
its own. In a regular fraction several products are one and the same column: they are
aliases, and only their sum is measured (Box, Hunter and Hunter, Statistics for
Experimenters, chapter "Fractional factorial designs at two levels").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Final

import numpy as np

from benchmarks.analysis.factor_effects.factors import Array, Factor, Levels, Term

MOST_FACTORS: Final = 8


@dataclass(frozen=True, slots=True)
class Contrast:
    """The first term's column of -1 and 1, and all terms it stands for.

    The simplest terms come first; those of the same column turned round count as well.
    """

    terms: tuple[Term, ...]
    column: tuple[float, ...]

    @property
    def simplest(self) -> tuple[Term, ...]:
        """The terms of lowest order: one if the contrast has one meaning."""
        order = len(self.terms[0])
        return tuple(term for term in self.terms if len(term) == order)


def regular_contrasts(
    factors: Sequence[Factor], systems: Sequence[Levels]
) -> tuple[Contrast, ...]:
    """All contrasts of a full or regular fractional two-level design, else none."""
    if not _may_be_regular(factors, systems):
        return ()
    mains = {factor: factor.columns(systems)[:, 0] for factor in factors}
    if not all(np.all(column) for column in mains.values()):
        return ()
    found: dict[bytes, list[tuple[Term, Array]]] = {}
    for term in _terms(factors):
        column = np.prod([mains[factor] for factor in term], axis=0)
        turned = column * column[0]
        found.setdefault(turned.tobytes(), []).append((term, column))
    contrasts = [_contrast(members) for members in found.values()]
    varying = [each for each in contrasts if len(set(each.column)) > 1]
    return tuple(varying) if _are_orthogonal(varying, len(systems)) else ()


def _may_be_regular(factors: Sequence[Factor], systems: Sequence[Levels]) -> bool:
    return 0 < len(factors) <= MOST_FACTORS and all(
        len(factor.levels) == 2 for factor in factors
    )


def _terms(factors: Sequence[Factor]) -> Iterator[Term]:
    orders = range(1, len(factors) + 1)
    return chain.from_iterable(combinations(factors, order) for order in orders)


def _contrast(members: Sequence[tuple[Term, Array]]) -> Contrast:
    _, column = members[0]
    return Contrast(
        terms=tuple(term for term, _ in members),
        column=tuple(column),
    )


def _are_orthogonal(contrasts: Sequence[Contrast], cells: int) -> bool:
    """Whether the contrasts and the mean take the responses apart completely."""
    if len(contrasts) != cells - 1:
        return False
    matrix = np.array([np.ones(cells), *(each.column for each in contrasts)])
    return bool(np.allclose(matrix @ matrix.T, cells * np.eye(cells)))
