"""Number theory."""

from tests.students.program import Family

PROGRAMS = Family()


def gcd(a, b):
    while b != 0:
        a, b = b, a % b
    return a


PROGRAMS.add(gcd, (1071, 462), (7, 0), (-12, 8), (10**18, 10**9 + 7))


def prime_factors(n):
    factors = []
    divisor = 2
    while n > 1:
        while n % divisor == 0:
            factors.append(divisor)
            n //= divisor
        divisor += 1
        if divisor * divisor > n:
            if n > 1:
                factors.append(n)
            break
    return factors


PROGRAMS.add(prime_factors, (5040,), (97,), (1,), (999999,))


def collatz(n):
    steps = [n]
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps.append(n)
    return steps


PROGRAMS.add(collatz, (27,), (1,), (6,), (97,))


def perfect_numbers(limit):
    found = []
    for n in range(2, limit):
        total = 1
        for d in range(2, n):
            if n % d == 0:
                total += d
        if total == n:
            found.append(n)
    return found


PROGRAMS.add(perfect_numbers, (30,), (10,), (2,), (500,))


def to_base(n, base):
    if n == 0:
        return "0"
    digits = "0123456789abcdef"
    result = ""
    negative = n < 0
    n = abs(n)
    while n > 0:
        n, digit = divmod(n, base)
        result = digits[digit] + result
    return "-" + result if negative else result


PROGRAMS.add(to_base, (255, 16), (0, 2), (-1000, 2), (100, 17))


def digit_counts(n):
    counts = {}
    while n > 0:
        digit = n % 10
        counts[digit] = counts.get(digit, 0) + 1
        n //= 10
    return counts


PROGRAMS.add(digit_counts, (1223334444,), (0,), (7,), (98765432109,))


def approximate_root(x, tolerance):
    if x < 0:
        raise ValueError("no root of a negative number")
    guess = x / 2
    steps = 0
    while True:
        steps += 1
        better = (guess + x / guess) / 2
        if steps > 2 and abs(better - guess) < tolerance:
            return better, steps
        guess = better


PROGRAMS.add(approximate_root, (2.0, 1e-9), (144.0, 0.001), (-1.0, 0.1), (0.0, 0.1))
