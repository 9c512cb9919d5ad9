"""Sorting algorithms, in place and into new lists."""

from tests.students.program import Family, decimals, numbers

PROGRAMS = Family()

NUMBERS = (numbers(30),), ([],), ([3, 2, 1, 0, -1, -2, 7, 7, 3],), (numbers(100, seed=2),)


def bubble_sort(numbers):
    n = len(numbers)
    for i in range(n):
        swapped = False
        for j in range(0, n - i - 1):
            if numbers[j] > numbers[j + 1]:
                numbers[j], numbers[j + 1] = numbers[j + 1], numbers[j]
                swapped = True
        if not swapped:
            break
    return numbers


PROGRAMS.add(bubble_sort, *NUMBERS)


def insertion_sort(numbers):
    for i in range(1, len(numbers)):
        key = numbers[i]
        j = i - 1
        while j >= 0 and numbers[j] > key:
            numbers[j + 1] = numbers[j]
            j -= 1
        numbers[j + 1] = key


PROGRAMS.add(insertion_sort, *NUMBERS)


def selection_sort(numbers):
    result = numbers[:]
    for i in range(len(result)):
        smallest = i
        for j in range(i + 1, len(result)):
            if result[j] < result[smallest]:
                smallest = j
        result[i], result[smallest] = result[smallest], result[i]
    return result


PROGRAMS.add(selection_sort, (decimals(30),), ([],), ([4, 3, 2.5, 1],), (decimals(80, seed=2),))


def merge(left, right):
    merged = []
    while left and right:
        if left[0] <= right[0]:
            merged.append(left.pop(0))
        else:
            merged.append(right.pop(0))
    return merged + left + right


def merge_sort(numbers):
    if len(numbers) <= 1:
        return numbers
    middle = len(numbers) // 2
    return merge(merge_sort(numbers[:middle]), merge_sort(numbers[middle:]))


PROGRAMS.add(merge_sort, *NUMBERS)


def partition(a, low, high):
    pivot = a[high]
    i = low - 1
    for j in range(low, high):
        if a[j] <= pivot:
            i += 1
            a[i], a[j] = a[j], a[i]
    a[i + 1], a[high] = a[high], a[i + 1]
    return i + 1


def quick_sort(a, low, high):
    if low < high:
        p = partition(a, low, high)
        quick_sort(a, low, p - 1)
        quick_sort(a, p + 1, high)
    return a


PROGRAMS.add(
    quick_sort, (numbers(30), 0, 29), ([], 0, -1), ([3, 3, 1], 0, 2), (numbers(100, seed=2), 0, 99)
)


def heapify(a, n, i):
    largest = i
    left = 2 * i + 1
    right = 2 * i + 2
    if left < n and a[left] > a[largest]:
        largest = left
    if right < n and a[right] > a[largest]:
        largest = right
    if largest != i:
        a[i], a[largest] = a[largest], a[i]
        heapify(a, n, largest)


def heap_sort(a):
    n = len(a)
    for i in range(n // 2 - 1, -1, -1):
        heapify(a, n, i)
    for i in range(n - 1, 0, -1):
        a[i], a[0] = a[0], a[i]
        heapify(a, i, 0)


PROGRAMS.add(heap_sort, *NUMBERS)


def counting_sort(numbers):
    if not numbers:
        return []
    low, high = min(numbers), max(numbers)
    counts = [0] * (high - low + 1)
    for x in numbers:
        counts[x - low] += 1
    result = []
    for value, count in enumerate(counts):
        for _ in range(count):
            result.append(value + low)
    return result


PROGRAMS.add(counting_sort, *NUMBERS)


def shell_sort(a):
    gap = len(a) // 2
    while gap > 0:
        for i in range(gap, len(a)):
            temp = a[i]
            j = i
            while j >= gap and a[j - gap] > temp:
                a[j] = a[j - gap]
                j -= gap
            a[j] = temp
        gap //= 2
    return a


PROGRAMS.add(shell_sort, *NUMBERS)


def radix_sort(numbers):
    digits = 1
    while max(numbers) // digits > 0:
        buckets = [[] for _ in range(10)]
        for x in numbers:
            buckets[x // digits % 10].append(x)
        numbers = [x for bucket in buckets for x in bucket]
        digits *= 10
    return numbers


PROGRAMS.add(
    radix_sort,
    (numbers(30, below=1000),),
    ([3, 1, 2],),
    ([],),
    (numbers(100, seed=2, below=100000),),
)


def gnome_sort(garden):
    position = 0
    moves = []
    while position < len(garden):
        if position == 0 or garden[position] >= garden[position - 1]:
            position += 1
        else:
            before = garden[position]
            garden[position] = garden[position - 1]
            garden[position - 1] = before
            moves.append((position - 1, position))
            position -= 1
    return moves


PROGRAMS.add(gnome_sort, (numbers(12),), ([],), ([3, 2, 1],), (decimals(20),))
