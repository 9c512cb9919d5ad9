"""Matrices as lists of lists."""

from tests.students.program import Family, decimals, table

PROGRAMS = Family()


def multiply(a, b):
    if len(a[0]) != len(b):
        raise ValueError(f"cannot multiply {len(a)}x{len(a[0])} by {len(b)}x{len(b[0])}")
    result = [[0] * len(b[0]) for _ in range(len(a))]
    for i in range(len(a)):
        for j in range(len(b[0])):
            for k in range(len(b)):
                result[i][j] += a[i][k] * b[k][j]
    return result


PROGRAMS.add(
    multiply,
    (table(5, 4), table(4, 6)),
    ([[1, 2, 3]], [[1], [2], [3]]),
    ([[1.5]], [[2, 0.5]]),
    ([[1, 2]], [[1, 2]]),
)


def transpose(matrix):
    result = []
    for j in range(len(matrix[0])):
        row = []
        for i in range(len(matrix)):
            row.append(matrix[i][j])
        result.append(row)
    return result


PROGRAMS.add(transpose, (table(6, 9),), ([["a"]],), ([],), ([[1.5, 2.5], [3.5, 4.5], [5.5, 6.5]],))


def determinant(matrix):
    if len(matrix) == 1:
        return matrix[0][0]
    total = 0
    for column in range(len(matrix)):
        minor = [row[:column] + row[column + 1 :] for row in matrix[1:]]
        total += (-1) ** column * matrix[0][column] * determinant(minor)
    return total


PROGRAMS.add(
    determinant,
    (table(4, 4),),
    ([[7]],),
    ([[2, 0, 1], [1, 3, 2], [1, 1, 4]],),
    ([[1.5, 2.0], [0.5, -1.0]],),
)


def gauss(a, b):
    n = len(b)
    for i in range(n):
        pivot = i
        for r in range(i + 1, n):
            if abs(a[r][i]) > abs(a[pivot][i]):
                pivot = r
        if a[pivot][i] == 0:
            raise ZeroDivisionError("the matrix is singular")
        a[i], a[pivot] = a[pivot], a[i]
        b[i], b[pivot] = b[pivot], b[i]
        for r in range(i + 1, n):
            factor = a[r][i] / a[i][i]
            for c in range(i, n):
                a[r][c] -= factor * a[i][c]
            b[r] -= factor * b[i]
    x = [0] * n
    for i in range(n - 1, -1, -1):
        x[i] = b[i]
        for c in range(i + 1, n):
            x[i] -= a[i][c] * x[c]
        x[i] /= a[i][i]
    return x


PROGRAMS.add(
    gauss,
    ([[float(v) for v in row] for row in table(6, 6)], decimals(6)),
    ([[0, 1], [2, 0]], [4, 6]),
    ([[1.0, 2.0], [2.0, 4.0]], [1.0, 2.0]),
    ([[1.0, 2.0, -1.0], [2.0, 1.0, -2.0], [-3.0, 1.0, 1.0]], [3.0, 3.0, -6.0]),
)


def rotate(matrix):
    n = len(matrix)
    for layer in range(n // 2):
        for i in range(layer, n - 1 - layer):
            top = matrix[layer][i]
            matrix[layer][i] = matrix[n - 1 - i][layer]
            matrix[n - 1 - i][layer] = matrix[n - 1 - layer][n - 1 - i]
            matrix[n - 1 - layer][n - 1 - i] = matrix[i][n - 1 - layer]
            matrix[i][n - 1 - layer] = top


PROGRAMS.add(rotate, (table(6, 6),), ([[1, 2], [3, 4]],), ([],), ([["a", "b"], ["c", "d"]],))


def spiral(matrix):
    order = []
    while matrix:
        order += matrix.pop(0)
        matrix = [list(row) for row in zip(*matrix)][::-1]
    return order


PROGRAMS.add(spiral, (table(5, 6),), ([[1, 2], [3, 4]],), ([],), ([[1.5, 2.5, 3.5]],))


def tic_tac_toe(moves):
    board = [[" "] * 3] * 3
    board = [row[:] for row in board]
    player = "X"
    for row, column in moves:
        if board[row][column] != " ":
            print("taken:", row, column)
            continue
        board[row][column] = player
        lines = board + [list(c) for c in zip(*board)]
        lines.append([board[i][i] for i in range(3)])
        lines.append([board[i][2 - i] for i in range(3)])
        if [player] * 3 in lines:
            return player, board
        player = "O" if player == "X" else "X"
    return None, board


PROGRAMS.add(
    tic_tac_toe,
    ([(0, 0), (1, 0), (0, 1), (1, 0), (1, 1), (0, 2)],),
    ([(1, 1)],),
    ([],),
    ([(0, 0), (0, 1), (1, 1), (0, 2), (2, 2)],),
)


def identity_with_a_bug(n):
    matrix = [[0] * n] * n
    for i in range(n):
        matrix[i][i] = 1
    return matrix


PROGRAMS.add(identity_with_a_bug, (3,), (0,), (1,), (20,))


class Matrix:
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        i, j = index
        return self.rows[i][j]

    def __setitem__(self, index, value):
        i, j = index
        self.rows[i][j] = value

    def __add__(self, other):
        return Matrix([[a + b for a, b in zip(r, s)] for r, s in zip(self.rows, other.rows)])

    def __eq__(self, other):
        return isinstance(other, Matrix) and self.rows == other.rows

    def __repr__(self):
        return "\n".join(" ".join(str(v) for v in row) for row in self.rows)


def add_matrices(a, b):
    first, second = Matrix(a), Matrix(b)
    total = first + second
    total[0, 0] = first[0, 0] * 10
    print(total)
    return total, total == first, first == Matrix(a)


PROGRAMS.add(
    add_matrices,
    (table(4, 5), table(4, 5)),
    ([[1]], [[2]]),
    ([], []),
    ([[0.5, 1.5]], [[2, 3], [4, 5]]),
)
