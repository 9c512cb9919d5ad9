"""Iterators and generators."""

from tests.students.program import Family, decimals, numbers

PROGRAMS = Family()


def in_pairs(items):
    iterator = iter(items)
    pairs = []
    for first in iterator:
        second = next(iterator, None)
        pairs.append((first, second))
    return pairs


PROGRAMS.add(in_pairs, (numbers(20),), (numbers(31),), ([],), (["a", "b", "c"],))


def windows(items, size):
    window = []
    for item in items:
        window.append(item)
        if len(window) == size:
            yield tuple(window)
            window.pop(0)


def moving_average(numbers, size):
    averages = []
    for window in windows(numbers, size):
        averages.append(sum(window) / size)
    return averages


PROGRAMS.add(moving_average, (numbers(30), 3), ([1.0, 2.0], 3), ([], 1), (decimals(50), 5))


def read_numbers(lines):
    for line in lines:
        line = line.strip()
        if line:
            yield int(line)


def only_even(numbers):
    return (n for n in numbers if n % 2 == 0)


def squared(numbers):
    for n in numbers:
        yield n * n


def sum_of_even_squares(lines):
    total = 0
    for n in squared(only_even(read_numbers(lines))):
        total += n
    return total


PROGRAMS.add(
    sum_of_even_squares,
    (["1", "2", " 4 ", "", "10", "7", "8"] * 4,),
    ([],),
    (["2", "x"],),
    (["10", "11", "12"],),
)


class Countdown:
    def __init__(self, start):
        self.current = start

    def __iter__(self):
        return self

    def __next__(self):
        if self.current <= 0:
            raise StopIteration
        self.current -= 1
        return self.current + 1


def launch(start, hold):
    countdown = Countdown(start)
    said = []
    for number in countdown:
        said.append(number)
        if number == hold:
            break
    rest = list(countdown)
    return said, rest, countdown


PROGRAMS.add(launch, (30, 20), (0, 1), (3, 9), (7, 7))


def merge_sorted(left, right):
    merged = []
    a, b = iter(left), iter(right)
    x, y = next(a, None), next(b, None)
    while x is not None and y is not None:
        if x <= y:
            merged.append(x)
            x = next(a, None)
        else:
            merged.append(y)
            y = next(b, None)
    if x is not None:
        merged.append(x)
    if y is not None:
        merged.append(y)
    merged.extend(a)
    merged.extend(b)
    return merged


PROGRAMS.add(
    merge_sorted,
    (sorted(numbers(20)), sorted(numbers(15, seed=2))),
    ([1, 4], [2, 3]),
    ([], []),
    ([], [1.5, 2.5, 3.5]),
)


def header_and_body(lines):
    iterator = iter(lines)
    header = []
    for line in iterator:
        if line == "":
            break
        header.append(line)
    body = list(iterator)
    return header, body


PROGRAMS.add(
    header_and_body,
    (["From: Ann", "To: Bob", "", "Hi", "", "Bye"],),
    (["From: Ann"],),
    ([],),
    (["", "", "a"],),
)


def split_at_first_negative(values):
    iterator = iter(values)
    before = []
    for value in iterator:
        if value < 0:
            break
        before.append(value)
    after = [value for value in iterator]
    return before, after


PROGRAMS.add(
    split_at_first_negative,
    ([v + 4 for v in decimals(30)],),
    (numbers(20),),
    ([],),
    ([5, -1, 2, -3, 4],),
)


class Fibonacci:
    def __init__(self, limit):
        self.limit = limit
        self.a, self.b = 0, 1

    def __iter__(self):
        return self

    def __next__(self):
        if self.a > self.limit:
            raise StopIteration
        value = self.a
        self.a, self.b = self.b, self.a + self.b
        return value


def first_fibonaccis(limit, count):
    generator = Fibonacci(limit)
    out = []
    while len(out) < count:
        try:
            out.append(next(generator))
        except StopIteration:
            print("only", len(out))
            break
    return out


PROGRAMS.add(first_fibonaccis, (1000, 10), (5, 10), (0, 3), (10**6, 25))


def in_chunks(values, size):
    chunks = list(zip(*[iter(values)] * size))
    rest = values[len(chunks) * size :]
    return chunks, rest


PROGRAMS.add(in_chunks, (numbers(20), 3), ([1, 2], 3), ([], 2), (decimals(31), 4))
