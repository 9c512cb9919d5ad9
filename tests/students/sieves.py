"""Sieves for primes."""

from tests.students.program import Family

PROGRAMS = Family()


def sieve_of_eratosthenes(n):
    is_prime = [True] * (n + 1)
    p = 2
    while p * p <= n:
        if is_prime[p]:
            for multiple in range(p * p, n + 1, p):
                is_prime[multiple] = False
        p += 1
    primes = []
    for k in range(2, n + 1):
        if is_prime[k]:
            primes.append(k)
    return primes


PROGRAMS.add(sieve_of_eratosthenes, (100,), (30,), (1,), (1000,))


def sieve_with_enumerate(limit):
    flags = [False, False] + [True] * (limit - 2)
    primes = []
    for i, flag in enumerate(flags):
        if flag:
            primes.append(i)
            for j in range(i * i, limit, i):
                flags[j] = False
    return primes


PROGRAMS.add(sieve_with_enumerate, (100,), (30,), (3,), (1000,))
