"""Integer and boolean work: hashes, bit tricks, calendars, masks, fixed point."""

import numpy as np

from tests.programs.program import Program


def murmur_finalizer(key):
    h = key ^ (key >> 16)
    h = h * np.uint32(0x85EBCA6B)
    h = h ^ (h >> 13)
    h = h * np.uint32(0xC2B2AE35)
    return h ^ (h >> 16)


def words(rng, size):
    return (rng.integers(0, 2**32, size, dtype=np.uint32),)


def population_count(x):
    x = x - ((x >> 1) & 0x5555555555555555)
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F
    return ((x * 0x0101010101010101) >> 56).astype(np.uint8)


def long_words(rng, size):
    return (rng.integers(0, 2**64, size, dtype=np.uint64),)


def linear_congruential(state):
    state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    return state, (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def days_from_civil(year, month, day):
    # Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil.
    y = year - (month <= 2)
    era = y // 400
    year_of_era = y - era * 400
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    return era * 146097 + day_of_era - 719468, leap


def dates(rng, size):
    year = rng.integers(-4000, 4000, size, dtype=np.int32)
    return year, rng.integers(1, 13, size, dtype=np.int32), rng.integers(1, 29, size)


def fixed_point_lerp(a, b, fraction):
    return a + (((b.astype(np.int32) - a) * fraction) >> 15).astype(np.int16)


def fixed_point(rng, size):
    a, b = rng.integers(-1000, 1000, (2, size)).astype(np.int16)
    return a, b, rng.integers(0, 2**15, size)


def confusion_counts(predicted, actual):
    hit = predicted & actual
    return {
        "tp": hit.sum(),
        "fp": (predicted & ~actual).sum(),
        "fn": np.count_nonzero(actual & ~predicted),
        "any": hit.any(),
        "all": (predicted == actual).all(),
        "precision": hit.sum() / predicted.sum(),
    }


def decisions(rng, size):
    return rng.random(size) < 0.6, rng.random(size) < 0.5


def ipv4_text_to_number(parts):
    weights = np.left_shift(np.uint32(1), np.array([24, 16, 8, 0], np.uint32))
    number = (parts.astype(np.uint32) * weights).sum(axis=1, dtype=np.uint32)
    return number, number & np.uint32(0xFFFFFF00), parts[:, 0] ^ parts[:, 3]


def addresses(rng, size):
    return (rng.integers(0, 256, (size, 4), dtype=np.uint8),)


def morton_code(x, y):
    def spread(v):
        v = v.astype(np.uint32)
        v = (v | (v << 8)) & 0x00FF00FF
        v = (v | (v << 4)) & 0x0F0F0F0F
        v = (v | (v << 2)) & 0x33333333
        return (v | (v << 1)) & 0x55555555

    return spread(x) | (spread(y) << 1)


def grid_points(rng, size):
    x, y = rng.integers(0, 2**16, (2, size)).astype(np.uint16)
    return x, y


def clock(seconds):
    minutes, second = np.divmod(seconds, 60)
    hours, minute = np.divmod(minutes, 60)
    return hours % 24, minute, second, np.sign(seconds)


def instants(rng, size):
    return (rng.integers(-(10**6), 10**6, size),)


def table_lookup(codes, table):
    return table[codes].astype(np.float32) / np.float32(10), table[::-1][codes % 4], table.take(0)


def codes_and_table(rng, size):
    return rng.integers(0, 9, (size, 2), dtype=np.int8), rng.integers(-100, 100, 9)


def checkerboard(size):
    row = np.arange(size)
    board = (row[:, None] + row) % 2 == 0
    return board, np.where(board, 1, -1).sum(), np.repeat(board, 2, axis=0)


def just_size(rng, size):
    return (size,)


PROGRAMS = [
    Program(murmur_finalizer, words),
    Program(population_count, long_words),
    Program(linear_congruential, long_words),
    Program(days_from_civil, dates),
    Program(fixed_point_lerp, fixed_point),
    Program(confusion_counts, decisions),
    Program(ipv4_text_to_number, addresses),
    Program(morton_code, grid_points),
    Program(clock, instants),
    Program(table_lookup, codes_and_table),
    Program(checkerboard, just_size),
]
