"""Numbers: primes, digits, sequences."""

import math
from functools import reduce

import numpy as np

from .program import Family

PROGRAMS = Family()


def sieve_of_eratosthenes(n):
    is_prime = np.ones(n + 1, dtype=bool)
    is_prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if is_prime[i]:
            is_prime[i * i :: i] = False
    return np.nonzero(is_prime)[0]


PROGRAMS.add(sieve_of_eratosthenes, lambda: (100,), lambda: (257,))


def primes_up_to(n):
    sieve = [True] * (n + 1)
    for x in range(3, int(n**0.5) + 1, 2):
        for y in range(3, (n // x) + 1, 2):
            sieve[(x * y)] = False
    return [2] + [i for i in range(3, n, 2) if sieve[i]]


PROGRAMS.add(primes_up_to, lambda: (60,), lambda: (101,))


def is_prime(n):
    if n <= 1:
        return False
    if n <= 3:
        return True
    if n % 2 == 0 or n % 3 == 0:
        return False
    i = 5
    while i * i <= n:
        if n % i == 0 or n % (i + 2) == 0:
            return False
        i += 6
    return True


PROGRAMS.add(is_prime, lambda: (97,), lambda: (1,), lambda: (7919 * 31,))


def prime_factors(n):
    factors = []
    d = 2
    while d * d <= n:
        while n % d == 0:
            factors.append(d)
            n //= d
        d += 1
    if n > 1:
        factors.append(n)
    return factors


PROGRAMS.add(prime_factors, lambda: (360,), lambda: (9973 * 12,))


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


PROGRAMS.add(gcd, lambda: (1071, 462), lambda: (17, 5))


def lcm_of(numbers):
    return reduce(lambda a, b: a * b // gcd(a, b), numbers)


PROGRAMS.add(lcm_of, lambda: ([4, 6, 10],), lambda: ([7, 21, 3, 9],))


def extended_gcd(a, b):
    if a == 0:
        return b, 0, 1
    g, x1, y1 = extended_gcd(b % a, a)
    return g, y1 - (b // a) * x1, x1


PROGRAMS.add(extended_gcd, lambda: (240, 46), lambda: (35, 64))


def mod_pow(base, exponent, modulus):
    result = 1
    base %= modulus
    while exponent > 0:
        if exponent & 1:
            result = result * base % modulus
        exponent >>= 1
        base = base * base % modulus
    return result


PROGRAMS.add(mod_pow, lambda: (7, 560, 561), lambda: (2, 1023, 1000007))


def miller_rabin(n, witnesses=(2, 3, 5, 7, 11, 13)):
    if n < 2:
        return False
    for p in witnesses:
        if n % p == 0:
            return n == p
    d, s = n - 1, 0
    while d % 2 == 0:
        d //= 2
        s += 1
    for a in witnesses:
        x = pow(a, d, n)
        if x in (1, n - 1):
            continue
        for _ in range(s - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


PROGRAMS.add(miller_rabin, lambda: (104729,), lambda: (561,), lambda: (2147483647,))


def collatz(n):
    sequence = [n]
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        sequence.append(n)
    return sequence


PROGRAMS.add(collatz, lambda: (27,), lambda: (6,))


def longest_collatz(limit):
    cache = {1: 1}
    best, best_n = 1, 1
    for start in range(2, limit):
        n, steps = start, 0
        path = []
        while n not in cache:
            path.append(n)
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        length = cache[n]
        for p in reversed(path):
            length += 1
            cache[p] = length
        if cache[start] > best:
            best, best_n = cache[start], start
    return best_n, best


PROGRAMS.add(longest_collatz, lambda: (30,), lambda: (60,))


def perfect_numbers(limit):
    found = []
    for n in range(2, limit):
        total = 1
        for d in range(2, int(math.sqrt(n)) + 1):
            if n % d == 0:
                total += d
                if d != n // d:
                    total += n // d
        if total == n:
            found.append(n)
    return found


PROGRAMS.add(perfect_numbers, lambda: (500,), lambda: (30,))


def totient(n):
    result = n
    p = 2
    while p * p <= n:
        if n % p == 0:
            while n % p == 0:
                n //= p
            result -= result // p
        p += 1
    if n > 1:
        result -= result // n
    return result


PROGRAMS.add(totient, lambda: (36,), lambda: (9973,))


def pascal_triangle(n):
    triangle = []
    for i in range(n):
        row = [1] * (i + 1)
        for j in range(1, i):
            row[j] = triangle[i - 1][j - 1] + triangle[i - 1][j]
        triangle.append(row)
    return triangle


PROGRAMS.add(pascal_triangle, lambda: (6,), lambda: (9,))


def partitions(n):
    p = np.zeros(n + 1, dtype=np.int64)
    p[0] = 1
    for k in range(1, n + 1):
        for i in range(k, n + 1):
            p[i] += p[i - k]
    return p[n]


PROGRAMS.add(partitions, lambda: (30,), lambda: (50,))


def digits(n, base=10):
    if base < 2:
        raise ValueError("base must be at least 2")
    out = []
    while True:
        n, d = divmod(n, base)
        out.append(d)
        if n == 0:
            return out[::-1]


PROGRAMS.add(digits, lambda: (90210,), lambda: (255, 2), lambda: (3, 1))


def armstrong_numbers(limit):
    result = []
    for n in range(1, limit):
        power = len(str(n))
        if n == sum(int(d) ** power for d in str(n)):
            result.append(n)
    return result


PROGRAMS.add(armstrong_numbers, lambda: (50,), lambda: (160,))


def fibonacci_matrix(n, mod=None):
    result = np.eye(2, dtype=np.int64)
    m = np.array([[1, 1], [1, 0]], dtype=np.int64)
    while n:
        if n % 2:
            result = result @ m
        m = m @ m
        if mod is not None:
            result %= mod
            m %= mod
        n //= 2
    return result[0, 1]


PROGRAMS.add(fibonacci_matrix, lambda: (20,), lambda: (1000, 9973))


def fibonacci(n):
    """Yields the first numbers of the sequence."""
    a, b = 0, 1
    for _ in range(n):
        yield a
        a, b = b, a + b


def even_fibonacci_sum(n):
    return sum(x for x in fibonacci(n) if x % 2 == 0)


PROGRAMS.add(even_fibonacci_sum, lambda: (20,), lambda: (35,))


def chinese_remainder(remainders, moduli):
    total = 0
    product = math.prod(moduli)
    for r, m in zip(remainders, moduli):
        p = product // m
        total += r * pow(p, -1, m) * p
    return total % product


PROGRAMS.add(chinese_remainder, lambda: ([2, 3, 2], [3, 5, 7]), lambda: ([1, 4], [5, 9]))


class Fraction:
    def __init__(self, num, den=1):
        if den == 0:
            raise ZeroDivisionError(f"Fraction({num}, 0)")
        g = math.gcd(num, den)
        if den < 0:
            g = -g
        self.num, self.den = num // g, den // g

    def __add__(self, other):
        return Fraction(self.num * other.den + other.num * self.den, self.den * other.den)

    def __mul__(self, other):
        return Fraction(self.num * other.num, self.den * other.den)

    def __lt__(self, other):
        return self.num * other.den < other.num * self.den


def harmonic(n):
    total = Fraction(0)
    for k in range(1, n + 1):
        total = total + Fraction(1, k)
    return total


PROGRAMS.add(harmonic, lambda: (5,), lambda: (15,))
PROGRAMS.add(
    Fraction.__add__,
    lambda: (Fraction(1, 2), Fraction(1, 3)),
    lambda: (Fraction(-5, 6), Fraction(3, 4)),
)
