"""Dynamic programming by tables."""

from tests.students.program import Family, numbers

PROGRAMS = Family()


def fibonacci(n):
    if n < 0:
        raise ValueError("n must not be negative")
    numbers = [0, 1]
    while len(numbers) <= n:
        numbers.append(numbers[-1] + numbers[-2])
    return numbers[n]


PROGRAMS.add(fibonacci, (30,), (0,), (-1,), (100,))


def knapsack(capacity, weights, values):
    n = len(weights)
    best = [[0] * (capacity + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for w in range(capacity + 1):
            best[i][w] = best[i - 1][w]
            if weights[i - 1] <= w:
                with_item = best[i - 1][w - weights[i - 1]] + values[i - 1]
                if with_item > best[i][w]:
                    best[i][w] = with_item
    chosen = []
    w = capacity
    for i in range(n, 0, -1):
        if best[i][w] != best[i - 1][w]:
            chosen.append(i - 1)
            w -= weights[i - 1]
    return best[n][capacity], chosen[::-1]


PROGRAMS.add(
    knapsack,
    (50, [5, 12, 8, 20, 3, 17], [10, 25, 12, 40, 4, 31]),
    (0, [1], [10]),
    (10, [], []),
    (8, [1, 3, 4, 5], [1, 4, 5, 7]),
)


def longest_common_subsequence(a, b):
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1][j + 1] = table[i][j] + 1
            else:
                table[i + 1][j + 1] = max(table[i][j + 1], table[i + 1][j])
    i, j = len(a), len(b)
    result = ""
    while i > 0 and j > 0:
        if a[i - 1] == b[j - 1]:
            result = a[i - 1] + result
            i -= 1
            j -= 1
        elif table[i - 1][j] >= table[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return result


PROGRAMS.add(
    longest_common_subsequence,
    ("the quick brown fox", "jumps over a lazy dog"),
    ("", "abc"),
    ("abc", "xyz"),
    ("AGGTAB" * 4, "GXTXAYB" * 3),
)


def edit_distance(a, b):
    rows, columns = len(a) + 1, len(b) + 1
    table = [[0 for _ in range(columns)] for _ in range(rows)]
    for i in range(rows):
        table[i][0] = i
    for j in range(columns):
        table[0][j] = j
    for i in range(1, rows):
        for j in range(1, columns):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + cost)
    return table[-1][-1]


PROGRAMS.add(
    edit_distance,
    ("saturday evening", "sunday morning"),
    ("", "abc"),
    ("same", "same"),
    ("kitten" * 4, "sitting" * 4),
)


def coin_change(coins, amount):
    fewest = [0] + [float("inf")] * amount
    for value in range(1, amount + 1):
        for coin in coins:
            if coin <= value and fewest[value - coin] + 1 < fewest[value]:
                fewest[value] = fewest[value - coin] + 1
    if fewest[amount] == float("inf"):
        return -1
    return fewest[amount]


PROGRAMS.add(coin_change, ([1, 2, 5], 63), ([2], 3), ([1], 0), ([4, 7, 9], 126))


def matrix_chain(sizes):
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[None] * n for _ in range(n)]
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            cost[i][j] = float("inf")
            for k in range(i, j):
                c = cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if c < cost[i][j]:
                    cost[i][j] = c
                    split[i][j] = k
    return cost[0][n - 1], split


PROGRAMS.add(
    matrix_chain, ([40, 20, 30, 10, 30, 25, 5],), ([10, 20, 30],), ([5, 5],), (numbers(12),)
)
