"""Recursion: queens, permutations, Pascal's triangle, the tower of Hanoi."""

from tests.students.program import Family

PROGRAMS = Family()


def is_safe(queens, column):
    row = len(queens)
    for r, c in enumerate(queens):
        if c == column or abs(c - column) == row - r:
            return False
    return True


def place_queens(n, queens, solutions):
    if len(queens) == n:
        solutions.append(queens[:])
        return
    for column in range(n):
        if is_safe(queens, column):
            queens.append(column)
            place_queens(n, queens, solutions)
            queens.pop()


def n_queens(n):
    solutions = []
    place_queens(n, [], solutions)
    return solutions


PROGRAMS.add(n_queens, (5,), (1,), (3,), (6,))


def permutations(items):
    result = []

    def backtrack(current, remaining):
        if not remaining:
            result.append(current)
            return
        for i in range(len(remaining)):
            backtrack(current + [remaining[i]], remaining[:i] + remaining[i + 1 :])

    backtrack([], items)
    return result


PROGRAMS.add(permutations, ([1, 2, 3, 4],), ([],), (["a", "b"],), ([5, 4, 3, 2, 1],))


def pascal_triangle(n):
    rows = []
    for i in range(n):
        row = [1]
        if rows:
            last = rows[-1]
            for j in range(len(last) - 1):
                row.append(last[j] + last[j + 1])
            row.append(1)
        rows.append(row)
    return rows


PROGRAMS.add(pascal_triangle, (12,), (0,), (1,), (20,))


def hanoi(n, source, target, spare, moves):
    if n == 0:
        return moves
    hanoi(n - 1, source, spare, target, moves)
    moves.append((source, target))
    hanoi(n - 1, spare, target, source, moves)
    return moves


PROGRAMS.add(
    hanoi, (4, "A", "C", "B", []), (0, "A", "C", "B", []), (1, 1, 3, 2, []), (6, "A", "C", "B", [])
)


def flood_fill(image, row, column, color):
    old = image[row][column]
    if old == color:
        return image

    def fill(r, c):
        if r < 0 or r >= len(image) or c < 0 or c >= len(image[0]) or image[r][c] != old:
            return
        image[r][c] = color
        fill(r + 1, c)
        fill(r - 1, c)
        fill(r, c + 1)
        fill(r, c - 1)

    fill(row, column)
    return image


PROGRAMS.add(
    flood_fill,
    ([[1, 1, 1, 2], [1, 1, 0, 1], [1, 0, 1, 1]], 1, 1, 7),
    ([[0]], 0, 0, 0),
    ([[0, 0], [0, 1]], 1, 1, 5),
    ([[3, 3, 3, 3, 3], [3, 1, 1, 1, 3], [3, 3, 3, 3, 3]], 0, 0, 1),
)


def subsets(items):
    result = [[]]
    for item in items:
        for subset in result[:]:
            result.append(subset + [item])
    return result


PROGRAMS.add(subsets, ([1, 2, 3, 4],), ([],), (["a", "b"],), ([1, 2, 3, 4, 5, 6],))
