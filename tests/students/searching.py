"""Searches in lists."""

from tests.students.program import Family, decimals, numbers

PROGRAMS = Family()


def linear_search(items, target):
    for index, item in enumerate(items):
        if item == target:
            return index
    return -1


PROGRAMS.add(
    linear_search, (numbers(50), 28), ([4, 2, 7], 5), ([], 1), (["ann", "bob", "cid", "bob"], "bob")
)


def binary_search(numbers, target):
    low, high = 0, len(numbers) - 1
    while low <= high:
        middle = (low + high) // 2
        if numbers[middle] == target:
            return middle
        elif numbers[middle] < target:
            low = middle + 1
        else:
            high = middle - 1
    return None


PROGRAMS.add(
    binary_search, (sorted(numbers(60)), 28), ([1, 3, 5], 4), ([], 4), (sorted(decimals(200)), 1.25)
)


def first_big_enough(numbers, limit):
    i = 0
    while True:
        if i >= 2 and numbers[i] > limit:
            return i, numbers[i]
        i += 1


PROGRAMS.add(
    first_big_enough, (numbers(40), 90), ([1, 1, 7], 5), (decimals(60), 3.5), ([1, 2, 3], 10)
)


def two_sum(values, target):
    seen = {}
    for index, value in enumerate(values):
        if target - value in seen:
            return [seen[target - value], index]
        seen[value] = index
    return []


PROGRAMS.add(two_sum, (numbers(40), 101), ([2, 7, 11, 15], 9), ([], 0), ([3, 3], 6))


def remove_odd_with_a_bug(values):
    for value in values:
        if value % 2 == 1:
            values.remove(value)
    return values


PROGRAMS.add(
    remove_odd_with_a_bug, (numbers(20),), ([1, 3, 5, 7],), ([],), ([2, 1, 1, 4, 5, 5, 5],)
)


def longest_row(rows):
    longest = []
    for row in rows:
        if len(row) > len(longest):
            longest = row
    longest.append(0)
    return longest


PROGRAMS.add(
    longest_row, ([[1], [4, 5, 6], [2, 3]],), ([],), ([[]],), ([numbers(k) for k in range(12)],)
)


def last_digit_histogram(values):
    histogram = {}
    for value in values:
        digit = value % 10
        if digit not in histogram:
            histogram[digit] = 0
        histogram[digit] += 1
    return histogram


PROGRAMS.add(last_digit_histogram, (numbers(40),), ([],), ([3],), (numbers(100, seed=5),))


def running_total(values, totals):
    total = 0
    for value in values:
        total += value
        totals[value] = total
    return max(totals, key=totals.get)


PROGRAMS.add(running_total, (numbers(15), {}), ([], {1: 2}), ([], {}), (decimals(10), {0.25: -7.0}))
