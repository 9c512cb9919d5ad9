"""Number theory, hashes and digits, over Python and NumPy integers."""

import numpy as np

from tests.control_programs.program import Programs, ramp, whole

programs = Programs("integers")


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


programs.add(collatz, (1,), (6,), (27,), (np.int64(97),), (837799,))


def longest_collatz(limit):
    best, where = 0, 1
    for start in range(1, limit):
        n, steps = start, 0
        while n > 1:
            if n & 1:
                n = 3 * n + 1
            else:
                n >>= 1
            steps += 1
        if steps > best:
            best, where = steps, start
    return best, where


programs.add(longest_collatz, (5,), (60,), (1,), (40,))


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


programs.add(gcd, (12, 18), (1071, 462), (5, 0), (0, 5), (-12, 18), (2**40, 6**20))


def extended_gcd(a, b):
    x0, x1, y0, y1 = 1, 0, 0, 1
    while b != 0:
        q, (a, b) = a // b, (b, a % b)
        x0, x1 = x1, x0 - q * x1
        y0, y1 = y1, y0 - q * y1
    return a, x0, y0


programs.add(extended_gcd, (240, 46), (17, 5), (3, 0), (0, 3))


def fibonacci(n):
    a, b = 0, 1
    while n > 0:
        a, b = b, a + b
        n -= 1
    return a


programs.add(fibonacci, (0,), (10,), (90,), (100,), repeats="ints of more than 64 bits")


def primes_below(n):
    sieve = np.ones(n, dtype=bool)
    sieve[:2] = False
    i = 2
    while i * i < n:
        if sieve[i]:
            for j in range(i * i, n, i):
                sieve[j] = False
        i += 1
    return sieve


programs.add(primes_below, (30,), (101,), (2,), (300,))


def count_primes(n):
    count = 0
    for k in range(2, n):
        for d in range(2, k):
            if d * d > k:
                count += 1
                break
            if k % d == 0:
                break
        else:
            count += 1
    return count


programs.add(count_primes, (10,), (2,), (60,))


def fnv_hash(data):
    h = np.uint32(2166136261)
    for byte in data:
        h = (h ^ byte) * np.uint32(16777619)
    return h


programs.add(
    fnv_hash,
    (np.frombuffer(b"hello", dtype=np.uint8),),
    (np.arange(200, dtype=np.uint8),),
    (np.zeros(0, dtype=np.uint8),),
)


def fnv_hash_with_python_ints(data):
    h = 2166136261
    for i in range(len(data)):
        h = ((h ^ int(data[i])) * 16777619) & 0xFFFFFFFF
    return h


programs.add(
    fnv_hash_with_python_ints,
    (np.frombuffer(b"hello", dtype=np.uint8),),
    (np.arange(200, dtype=np.uint8),),
    (np.zeros(0, dtype=np.uint8),),
)


def modular_power(base, exponent, modulus):
    result = 1
    base %= modulus
    while exponent > 0:
        if exponent & 1:
            result = result * base % modulus
        base = base * base % modulus
        exponent >>= 1
    return result


programs.add(modular_power, (3, 200, 13), (2, 10, 1000), (5, 0, 7), (7, 123456789, 1_000_003))


def random_numbers(seed, n):
    """A linear congruential generator, its products beyond 32 bits."""
    state = seed
    total = 0.0
    for _ in range(n):
        state = (1103515245 * state + 12345) % 2**31
        total += state / 2**31
    return total, state


programs.add(random_numbers, (1, 5), (42, 200), (7, 0))


def xorshift(state, n):
    for _ in range(n):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
    return state


programs.add(xorshift, (np.uint64(88172645463325252), 3), (np.uint64(1), 50), (np.uint64(5), 0))


def egyptian_product(a, b):
    p = 0
    while b:
        if b % 2:
            p += a
        a += a
        b //= 2
    return p


programs.add(egyptian_product, (7, 6), (123, 456), (9, 0), (-5, 31))


def day_of_week(day, month, year):
    """Zeller's congruence."""
    if month < 3:
        month += 12
        year -= 1
    k, j = year % 100, year // 100
    return (day + 13 * (month + 1) // 5 + k + k // 4 + j // 4 + 5 * j) % 7


programs.add(day_of_week, (20, 11, 2026), (29, 2, 2024), (1, 1, 1900))


def integer_square_root(n):
    if n < 2:
        return n
    x = n
    y = (x + 1) // 2
    while y < x:
        x = y
        y = (x + n // x) // 2
    return x


programs.add(integer_square_root, (10,), (1,), (10**12,), (99,), (10**17 + 3,))


def roman_digits(n):
    values = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)
    count = 0
    for v in values:
        while n >= v:
            n -= v
            count += 1
    return count


programs.add(roman_digits, (1994,), (3,), (0,), (3888,))


def luhn(digits):
    total = 0
    for i, d in enumerate(reversed(digits)):
        if i % 2:
            d = d * 2
            if d > 9:
                d -= 9
        total += d
    return total % 10 == 0


programs.add(luhn, (np.array([7, 9, 9, 2, 7, 3, 9, 8, 7, 1, 3]),), (whole(16, 0, 10),), (ramp(3),))
