"""Dynamic programming, and texts as arrays."""

import numpy as np

from .program import Family

PROGRAMS = Family()


def letters(n, k=4, seed=0):
    return np.random.default_rng(seed).integers(k, size=n)


def edit_distance(a, b):
    m, n = len(a), len(b)
    dp = np.zeros((m + 1, n + 1), dtype=int)
    for i in range(m + 1):
        dp[i][0] = i
    for j in range(n + 1):
        dp[0][j] = j
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            if a[i - 1] == b[j - 1]:
                dp[i][j] = dp[i - 1][j - 1]
            else:
                dp[i][j] = 1 + min(dp[i - 1][j], dp[i][j - 1], dp[i - 1][j - 1])
    return dp[m][n]


PROGRAMS.add(
    edit_distance,
    lambda: (letters(20), letters(25, seed=1)),
    lambda: (letters(9, seed=2), letters(0)),
)


def levenshtein(s1, s2):
    if len(s1) < len(s2):
        return levenshtein(s2, s1)
    if len(s2) == 0:
        return len(s1)
    previous_row = range(len(s2) + 1)
    for i, c1 in enumerate(s1):
        current_row = [i + 1]
        for j, c2 in enumerate(s2):
            insertions = previous_row[j + 1] + 1
            deletions = current_row[j] + 1
            substitutions = previous_row[j] + (c1 != c2)
            current_row.append(min(insertions, deletions, substitutions))
        previous_row = current_row
    return previous_row[-1]


PROGRAMS.add(levenshtein, lambda: ("kitten", "sitting"), lambda: ("", "abc"))


def longest_common_subsequence(x, y):
    m, n = len(x), len(y)
    L = [[0] * (n + 1) for _ in range(m + 1)]
    for i in range(m):
        for j in range(n):
            if x[i] == y[j]:
                L[i + 1][j + 1] = L[i][j] + 1
            else:
                L[i + 1][j + 1] = max(L[i + 1][j], L[i][j + 1])
    out = []
    i, j = m, n
    while i > 0 and j > 0:
        if x[i - 1] == y[j - 1]:
            out.append(x[i - 1])
            i -= 1
            j -= 1
        elif L[i - 1][j] > L[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return L[m][n], out[::-1]


PROGRAMS.add(
    longest_common_subsequence,
    lambda: (letters(12), letters(15, seed=1)),
    lambda: (letters(18, 2), letters(10, 2, seed=1)),
)


def knapsack(values, weights, capacity):
    n = len(values)
    table = np.zeros((n + 1, capacity + 1))
    for i in range(1, n + 1):
        for w in range(capacity + 1):
            if weights[i - 1] <= w:
                table[i, w] = max(table[i - 1, w], table[i - 1, w - weights[i - 1]] + values[i - 1])
            else:
                table[i, w] = table[i - 1, w]
    chosen = []
    w = capacity
    for i in range(n, 0, -1):
        if table[i, w] != table[i - 1, w]:
            chosen.append(i - 1)
            w -= weights[i - 1]
    return table[n, capacity], chosen


PROGRAMS.add(
    knapsack,
    lambda: (letters(8, 50) + 1.0, letters(8, 9, 1) + 1, 20),
    lambda: (letters(11, 50, 2) + 1.0, letters(11, 5, 3) + 1, 13),
)


def coin_change(coins, amount):
    dp = [float("inf")] * (amount + 1)
    dp[0] = 0
    for coin in coins:
        for x in range(coin, amount + 1):
            dp[x] = min(dp[x], dp[x - coin] + 1)
    return dp[amount] if dp[amount] != float("inf") else -1


PROGRAMS.add(coin_change, lambda: ([1, 2, 5], 27), lambda: ([4, 6], 15))


def count_ways(coins, target):
    ways = np.zeros(target + 1, dtype=np.int64)
    ways[0] = 1
    for c in coins:
        for t in range(c, target + 1):
            ways[t] += ways[t - c]
    return int(ways[target])


PROGRAMS.add(count_ways, lambda: (np.array([1, 2, 5, 10]), 60), lambda: (np.array([3, 7]), 44))


def longest_increasing_subsequence(nums):
    if len(nums) == 0:
        return 0, []
    n = len(nums)
    dp = [1] * n
    prev = [-1] * n
    for i in range(1, n):
        for j in range(i):
            if nums[j] < nums[i] and dp[j] + 1 > dp[i]:
                dp[i] = dp[j] + 1
                prev[i] = j
    best = max(range(n), key=lambda k: dp[k])
    path = []
    while best != -1:
        path.append(nums[best])
        best = prev[best]
    return max(dp), path[::-1]


PROGRAMS.add(
    longest_increasing_subsequence,
    lambda: (letters(20, 100),),
    lambda: (letters(33, 50, 1),),
    lambda: (letters(0),),
)


def matrix_chain_order(p):
    n = len(p) - 1
    m = np.zeros((n, n))
    s = np.zeros((n, n), dtype=int)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            m[i, j] = np.inf
            for k in range(i, j):
                cost = m[i, k] + m[k + 1, j] + p[i] * p[k + 1] * p[j + 1]
                if cost < m[i, j]:
                    m[i, j] = cost
                    s[i, j] = k
    return m[0, n - 1], s


PROGRAMS.add(
    matrix_chain_order,
    lambda: (np.array([30, 35, 15, 5, 10, 20, 25]),),
    lambda: (letters(9, 30) + 5,),
)


def dtw(s, t, window=None):
    n, m = len(s), len(t)
    w = max(window, abs(n - m)) if window is not None else max(n, m)
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(max(1, i - w), min(m, i + w) + 1):
            d = abs(s[i - 1] - t[j - 1])
            last_min = np.min([cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1]])
            cost[i, j] = d + last_min
    return cost[n, m]


PROGRAMS.add(
    dtw,
    lambda: (np.sin(np.arange(20) / 3), np.cos(np.arange(24) / 3)),
    lambda: (np.sin(np.arange(15) / 3), np.cos(np.arange(15) / 4), 3),
)


def needleman_wunsch(seq1, seq2, match=1, mismatch=-1, gap=-2):
    n, m = len(seq1), len(seq2)
    score = np.zeros((n + 1, m + 1), dtype=int)
    score[:, 0] = gap * np.arange(n + 1)
    score[0, :] = gap * np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            diag = score[i - 1, j - 1] + (match if seq1[i - 1] == seq2[j - 1] else mismatch)
            score[i, j] = max(diag, score[i - 1, j] + gap, score[i, j - 1] + gap)
    align1, align2 = [], []
    i, j = n, m
    while i > 0 or j > 0:
        step = match if i > 0 and j > 0 and seq1[i - 1] == seq2[j - 1] else mismatch
        if i > 0 and j > 0 and score[i, j] == score[i - 1, j - 1] + step:
            align1.append(seq1[i - 1])
            align2.append(seq2[j - 1])
            i, j = i - 1, j - 1
        elif i > 0 and score[i, j] == score[i - 1, j] + gap:
            align1.append(seq1[i - 1])
            align2.append(-1)
            i -= 1
        else:
            align1.append(-1)
            align2.append(seq2[j - 1])
            j -= 1
    return score[n, m], np.array(align1[::-1]), np.array(align2[::-1])


PROGRAMS.add(
    needleman_wunsch,
    lambda: (letters(12), letters(14, seed=1)),
    lambda: (letters(8, 2), letters(20, 2, seed=1), 2, -1, -1),
)


def smith_waterman_score(a, b, match=3, gap=2):
    H = np.zeros((len(a) + 1, len(b) + 1))
    best = (0, 0, 0)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            s = match if a[i - 1] == b[j - 1] else -match
            H[i, j] = max(0, H[i - 1, j - 1] + s, H[i - 1, j] - gap, H[i, j - 1] - gap)
            if H[i, j] > best[0]:
                best = (H[i, j], i, j)
    return best


PROGRAMS.add(
    smith_waterman_score,
    lambda: (letters(15), letters(18, seed=1)),
    lambda: (letters(10, 8), letters(12, 8, seed=3), 1, 1),
)


def max_subarray(nums):
    best_sum = current_sum = nums[0]
    start = end = s = 0
    for i in range(1, len(nums)):
        if current_sum < 0:
            current_sum = nums[i]
            s = i
        else:
            current_sum += nums[i]
        if current_sum > best_sum:
            best_sum = current_sum
            start, end = s, i
    return best_sum, start, end


PROGRAMS.add(
    max_subarray,
    lambda: (np.random.default_rng(0).normal(size=40),),
    lambda: (letters(25, 20) - 10,),
)


def kmp_search(text, pattern):
    lps = [0] * len(pattern)
    length = 0
    i = 1
    while i < len(pattern):
        if pattern[i] == pattern[length]:
            length += 1
            lps[i] = length
            i += 1
        elif length:
            length = lps[length - 1]
        else:
            lps[i] = 0
            i += 1
    found = []
    j = 0
    for i in range(len(text)):
        while j and text[i] != pattern[j]:
            j = lps[j - 1]
        if text[i] == pattern[j]:
            j += 1
        if j == len(pattern):
            found.append(i - j + 1)
            j = lps[j - 1]
    return found


PROGRAMS.add(
    kmp_search,
    lambda: (letters(60, 2), np.array([0, 1, 0])),
    lambda: (letters(80, 2, 1), np.array([1, 1, 0, 1])),
)


def caesar_cipher(text, shift):
    out = ""
    for char in text:
        if char.isalpha():
            base = ord("A") if char.isupper() else ord("a")
            out += chr((ord(char) - base + shift) % 26 + base)
        else:
            out += char
    return out


PROGRAMS.add(caesar_cipher, lambda: ("Hello, World!", 3), lambda: ("Khoor, Zruog!", -3))


def longest_palindrome(codes):
    n = len(codes)
    table = np.zeros((n, n), dtype=bool)
    start, longest = 0, 1
    for i in range(n):
        table[i, i] = True
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            if codes[i] == codes[j] and (length == 2 or table[i + 1, j - 1]):
                table[i, j] = True
                if length > longest:
                    start, longest = i, length
    return codes[start : start + longest]


PROGRAMS.add(
    longest_palindrome,
    lambda: (np.frombuffer(b"forgeeksskeegfor", np.uint8),),
    lambda: (letters(20, 2),),
)
