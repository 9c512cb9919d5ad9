"""Uniform numbers of NumPy's bit generators as kernels: any thread computes any number of a stream.

    lcg_launch("draw_0"), philox_launch("draw_1")

PCG64 and PCG64DXSM are linear congruential generators of 128 bits with a permutation of what they
give (O'Neill, PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random
Number Generation, 2014): the state after k steps is a_k * state + c_k modulo 2**128, by squaring
(Brown, Random Number Generation with Arbitrary Strides, 1994). Philox4x64-10 enciphers a counter,
four numbers at a time (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011).

A number is low + width * u with u of 53 bits, rounded as in NumPy's C code: 0 + 1 * u is u itself.
"""

from __future__ import annotations

from tracejit.codegen.cuda.launches import Launch, Shape
from tracejit.ir.dims import symbol

__all__ = [
    "CHEAP_MULTIPLIER",
    "LCG_WORDS",
    "MULTIPLIER",
    "PHILOX_WORDS",
    "WORK",
    "advance_launch",
    "lcg_launch",
    "philox_launch",
]

#: What PCG64 and PCG64DXSM multiply their states by.
MULTIPLIER, CHEAP_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645, 0xDA942042E4DD58B5
#: The size that says how many threads there is work for.
WORK = "work"
#: What a launch takes of a stream: the state that gives the first number, the multiplier and the
#: increment, and those of as many steps as there is work for.
LCG_WORDS = tuple(
    f"{name}_{half}"
    for name in ("state", "times", "plus", "leap_times", "leap_plus")
    for half in ("low", "high")
)
#: The counter and the key, then the numbers that are left over from the last block.
PHILOX_WORDS = (*(f"c{k}" for k in range(4)), "key0", "key1", *(f"left{k}" for k in range(4)))

_HALF = 2**64 - 1


def _words(value: int) -> tuple[str, str]:
    return f"uint64({value >> 64})", f"uint64({value & _HALF})"


def _next(x: str, times: str, plus: str, to: str) -> list[str]:
    """`to = times * x + plus` modulo 2**128, of pairs of words."""
    return [
        f"product = uint64({times}_low * {x}_low)",
        f"upper = uint64(fn_multiply_high({times}_low, {x}_low) + {times}_low * {x}_high)",
        f"upper = uint64(upper + {times}_high * {x}_low)",
        f"lower = uint64(product + {plus}_low)",
        "carry = fn_select(lower < product, uint64(1), uint64(0))",
        f"{to}_high = uint64(upper + {plus}_high + carry)",
        f"{to}_low = lower",
    ]


def _jump(steps: str, target: list[str]) -> list[str]:
    """The lines of a jump: `target` are those for each power of two in the number of steps.

    `power_times` and `power_plus` are the multiplier and the increment of so many steps.
    """
    return [
        "power_times_high, power_times_low = times_high, times_low",
        "power_plus_high, power_plus_low = plus_high, plus_low",
        f"rest = uint64({steps})",
        "while rest != uint64(0):",
        "    if rest & uint64(1) != uint64(0):",
        *_inside(_inside(target)),
        # Twice the steps: p * (p * x + q) + q.
        *_inside(_next("power_plus", "power_times", "power_plus", "power_plus")),
        "    zero_high, zero_low = uint64(0), uint64(0)",
        *_inside(_next("power_times", "power_times", "zero", "power_times")),
        "    rest = uint64(rest >> uint64(1))",
    ]


def _inside(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _store(place: str, x: str) -> str:
    """Write a number of 53 bits."""
    return f"out[{place}] = low + width * (float64({x} >> uint64(11)) * float64({2.0**-53!r}))"


_THREAD = ["_k = int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x"]
_THREADS = [*_THREAD, "_threads = int64(cuda.gridDim.x) * cuda.blockDim.x"]

#: PCG64 gives the halves of its state combined and rotated (XSL-RR); PCG64DXSM gives products.
_LCG_OUTPUT = [
    "if cheap != 0:",
    f"    x = uint64((x_high ^ (x_high >> uint64(32))) * uint64({CHEAP_MULTIPLIER}))",
    "    x = uint64((x ^ (x >> uint64(48))) * (x_low | uint64(1)))",
    "else:",
    "    turn = uint64(x_high >> uint64(58))",
    "    x = uint64(x_high ^ x_low)",
    "    back = uint64((uint64(64) - turn) & uint64(63))",
    "    x = uint64((x >> turn) | (x << back))",
]


def _source(name: str, parameters: list[str], lines: list[str]) -> str:
    return "\n".join([f"def {name}({', '.join(parameters)}):", *_inside(lines), ""])


def lcg_launch(name: str, in_memory: bool = False) -> Launch:
    """Numbers of a PCG64, or of a PCG64DXSM where `cheap` is not 0; a thread for each of `work`.

    A thread jumps to its own first number and leaps on from there. `LCG_WORDS` are numbers by
    value, or lie where `words` points.
    """
    given = ["words"] if in_memory else [*LCG_WORDS]
    parameters = ["out", "n", WORK, "cheap", *given, "low", "width"]
    lines = [f"{word} = words[{k}]" for k, word in enumerate(LCG_WORDS)] if in_memory else []
    lines += [*_THREADS, f"while _k < {WORK}:"]
    lines += _inside(["x_high, x_low = state_high, state_low"])
    lines += _inside(_jump("_k", _next("x", "power_times", "power_plus", "x")))
    lines += ["    i = _k", "    while i < n:"]
    body = [*_LCG_OUTPUT, _store("i", "x"), *_next("x", "leap_times", "leap_plus", "x")]
    lines += _inside(_inside([*body, f"i += {WORK}"]))
    lines += ["    _k += _threads"]
    kinds = ["u64*"] if in_memory else ["u64"] * len(LCG_WORDS)
    return _launch(name, parameters, ["f64*", "i64", "i64", "i64", *kinds, "f64", "f64"], lines)


def advance_launch(name: str) -> Launch:
    """A PCG64 after n numbers, of which the state lies on the device; one thread.

    `before` and `after` are its words as programs have them; `words` become those of a launch.
    """
    identity = [
        "a_high, a_low = uint64(0), uint64(1)",
        "b_high, b_low = uint64(0), uint64(0)",
    ]
    # After the steps so far: a * x + b.
    further = [
        *_next("b", "power_times", "power_plus", "b"),
        "zero_high, zero_low = uint64(0), uint64(0)",
        *_next("a", "power_times", "zero", "a"),
    ]
    high, low = _words(MULTIPLIER)
    lines = [
        f"times_high, times_low = {high}, {low}",
        "x_high, x_low = before[0], before[1]",
        "plus_high, plus_low = before[2], before[3]",
        *_next("x", "times", "plus", "state"),
        *identity,
        *_jump(WORK, further),
        "leap_times_high, leap_times_low = a_high, a_low",
        "leap_plus_high, leap_plus_low = b_high, b_low",
        *(f"words[{k}] = {word}" for k, word in enumerate(LCG_WORDS)),
        *_jump("n", _next("x", "power_times", "power_plus", "x")),
        "after[4] = before[4]",
        "after[5] = before[5]",
        *(f"after[{k}] = {w}" for k, w in enumerate(("x_high", "x_low", "plus_high", "plus_low"))),
    ]
    lines = [*_THREAD, "if _k == 0:", *_inside(lines)]
    parameters = ["before", "after", "words", "n", WORK]
    kinds = ["u64*", "u64*", "u64*", "i64", "i64"]
    return _launch(name, parameters, kinds, lines, alone=True)


#: The multipliers of Philox's rounds, and what its keys grow by.
_ROUND = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_GROWTH = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


def philox_launch(name: str) -> Launch:
    """Numbers of a Philox, from `position` among those that are left over; a thread for each block.

    Block 0 is what is left over. Each further one is the counter, with its number added to it,
    after ten rounds.
    """
    block = ["x0 = uint64(c0 + uint64(_k))", "carry = x0 < c0"]
    for k in (1, 2, 3):
        block += [f"x{k} = uint64(c{k} + fn_select(carry, uint64(1), uint64(0)))"]
        block += [f"carry = x{k} < c{k}"]
    block += ["a, b = key0, key1", "turn = 0", "while turn < 10:"]
    rounds = [f"m{k} = uint64({m})" for k, m in enumerate(_ROUND)]
    rounds += ["upper0, lower0 = fn_multiply_high(m0, x0), uint64(m0 * x0)"]
    rounds += ["upper1, lower1 = fn_multiply_high(m1, x2), uint64(m1 * x2)"]
    rounds += ["x0, x1 = uint64(upper1 ^ x1 ^ a), lower1"]
    rounds += ["x2, x3 = uint64(upper0 ^ x3 ^ b), lower0"]
    rounds += [f"a = uint64(a + uint64({_GROWTH[0]}))", f"b = uint64(b + uint64({_GROWTH[1]}))"]
    block += _inside([*rounds, "turn += 1"])
    body = [f"x{k} = left{k}" for k in range(4)]
    body += ["if _k != 0:", *_inside(block), "i = 4 * _k - position"]
    for k in range(4):
        body += ["if i >= 0 and i < n:", f"    {_store('i', f'x{k}')}", "i += 1"]
    lines = [*_THREADS, f"while _k < {WORK}:", *_inside([*body, "_k += _threads"])]
    parameters = ["out", "n", WORK, "position", *PHILOX_WORDS, "low", "width"]
    kinds = ["f64*", "i64", "i64", "i64", *["u64"] * len(PHILOX_WORDS), "f64", "f64"]
    return _launch(name, parameters, kinds, lines)


def _launch(
    name: str, parameters: list[str], kinds: list[str], lines: list[str], alone: bool = False
) -> Launch:
    """Arguments are known by their order."""
    shape = Shape("map", 1 if alone else symbol(WORK))
    return Launch(name, _source(name, parameters, lines), tuple(kinds), (), shape)
