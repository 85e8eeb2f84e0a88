"""The matrices of Winograd's minimal filtering algorithm F(4, 3), by the Cook-Toom construction in exact arithmetic.

Four outputs of a filter of three taps are `A^T ((G g) * (B^T d))` with six products in place of twelve. The points
0, +-3/4, +-3/2 and infinity keep the rounding error in f32 some three times below that of the usual 0, +-1, +-2.
(Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016, for the use on convolutions; Barabasz et
al., "Error Analysis and Improving the Accuracy of Winograd Convolution", 2020, for the points.)
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

OUTPUTS, TAPS = 4, 3
POINTS = (Fraction(0), Fraction(3, 4), Fraction(-3, 4), Fraction(3, 2), Fraction(-3, 2))
SIZE = OUTPUTS + TAPS - 1
"""Elements of the data that a tile reads along one axis, and products made of them."""

Matrix = tuple[tuple[Fraction, ...], ...]


def _times(left: list[Fraction], right: list[Fraction]) -> list[Fraction]:
    """The product of two polynomials, lowest coefficient first."""
    result = [Fraction(0)] * (len(left) + len(right) - 1)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            result[i + j] += a * b
    return result


@cache
def matrices() -> tuple[Matrix, Matrix, Matrix]:
    """`A^T` (4 x 6), `G` (6 x 3) and `B^T` (6 x 6)."""
    inverse = [[p**i for p in POINTS] + [Fraction(int(i == OUTPUTS - 1))] for i in range(OUTPUTS)]
    filters: list[list[Fraction]] = []
    data: list[list[Fraction]] = []
    for point in POINTS:
        others = [p for p in POINTS if p != point]
        scale, polynomial = Fraction(1), [Fraction(1)]
        for p in others:
            scale *= point - p
            polynomial = _times(polynomial, [-p, Fraction(1)])
        filters.append([point**i / scale for i in range(TAPS)])
        data.append([*polynomial, Fraction(0)])
    whole = [Fraction(1)]
    for p in POINTS:
        whole = _times(whole, [-p, Fraction(1)])
    filters.append([Fraction(0)] * (TAPS - 1) + [Fraction(1)])
    data.append(whole)
    return tuple(map(tuple, inverse)), tuple(map(tuple, filters)), tuple(map(tuple, data))
