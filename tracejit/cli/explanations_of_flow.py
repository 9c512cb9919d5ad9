"""The explanations of TJ016 and later: control flow, effects and stores."""

from __future__ import annotations

from tracejit.cli.explanation import Explanation

__all__ = ["LATER"]

LATER: dict[str, Explanation] = {
    "TJ016": Explanation(
        "A name has a value only after one side of a branch, or after a loop that may have no "
        "iterations, and is used in a way that needs it. Where it is merely read, compiled code "
        "raises UnboundLocalError as Python does.",
    ),
    "TJ017": Explanation(
        "A list that grows in a loop becomes arrays with room for more: its elements are numbers, "
        "arrays of one shape, None, texts, or tuples of these, of a few kinds. A dict or set "
        "whose keys are numbers of the run becomes a table; another one does not grow in a loop "
        "that is not unrolled.",
        """
@jit
def f(x):
    found = [np.ones(2)]
    while x[0] > 1:
        found.append(x)
        x = x / 2
    return found

f(np.full(3, 9.0))
""",
        """
@jit
def f(x):
    found = [2.0]
    while x[0] > 1:
        found.append(x.sum())
        x = x / 2
    return found

f(np.full(3, 9.0))
""",
    ),
    "TJ018": Explanation(
        "A loop becomes a loop in compiled code where its body treats every iteration alike. "
        "Where it needs each index as a Python value, as the key of a dict or the position in a "
        "list of arrays of unlike shapes, each iteration is compiled by itself, which is only "
        "done for a moderate number.",
        """
@jit
def f(x):
    parts = {}
    for i in range(30_000):
        parts[f"part {i}"] = x + i
    return parts["part 7"]

f(np.ones(3))
""",
        """
@jit
def f(x):
    parts = np.zeros((30_000, 3))
    for i in range(30_000):
        parts[i] = x + i
    return parts[7]

f(np.ones(3))
""",
    ),
    "TJ019": Explanation(
        "The function writes to an array of the caller, and another argument may lie in the same "
        "memory, so that it would change with it. Such a call runs eagerly; calls with separate "
        "arrays are answered by compiled code.",
        """
@jit
def f(x, y):
    x[1:] = x[1:] + y[:-1]

a = np.ones(5)
f(a, a)
""",
        """
@jit
def f(x, y):
    x[1:] = x[1:] + y[:-1]

a = np.ones(5)
f(a, a.copy())
""",
    ),
    "TJ020": Explanation(
        "A call of a function within itself, as often as data says, is a native function that "
        "calls itself. Its calls pass and give numbers, arrays and tuples of these; arrays that "
        "they store into are the same in all calls, or made in them. Where that is not so, calls "
        "are traced into each other to a small depth; a call of the compiled function that goes "
        "deeper is repeated eagerly, which the report counts, and which `strict` makes an error.",
    ),
    "TJ021": Explanation(
        "Texts of traced values are made at run time, by the print or the exception that they are "
        "for, or with the results that hold them. What compares texts, takes them apart or looks "
        "something up by them needs their characters while tracing.",
        """
@jit
def f(x):
    return len(f"{x[0]}") * x

f(np.ones(3))
""",
        """
@jit
def f(x):
    print(f"starting from {x[0]}")
    return 2 * x

f(np.ones(3))
""",
    ),
    "TJ022": Explanation(
        "After a branch there is one state of each list, dict and object. Their values may come "
        "from either side, but not their shape: how many entries there are, which keys, which "
        "attributes; but for lists of numbers and dicts of the run. Where little follows, that "
        "is compiled once for each side instead.",
        """
@jit
def f(x):
    found = {"last": 0}
    for i in range(len(x)):
        if x[i] > 0:
            found["positive"] = i
    return found

f(np.ones(3))
""",
        """
@jit
def f(x):
    found = {"last": 0, "positive": 0}
    for i in range(len(x)):
        if x[i] > 0:
            found["positive"] = i
    return found

f(np.ones(3))
""",
    ),
    "TJ023": Explanation(
        "A loop over a call of a generator function is compiled: the loop's body runs at each "
        "yield. So are sum, min, max, any, all, list and tuple of its items, its first item by "
        "next, and enumerate, zip, map and filter of it. A generator that goes on later, two in "
        "turns, one that is given back and what send gives are not.",
        """
def parts(x):
    yield x
    yield 2 * x

@jit
def f(x):
    items = parts(x)
    return next(items) + next(items)

f(np.ones(3))
""",
        """
def parts(x):
    yield x
    yield 2 * x

@jit
def f(x):
    first, second = parts(x)
    return first + second

f(np.ones(3))
""",
    ),
    "TJ024": Explanation(
        "An exception that is handled inside the function is a branch to its handler. Its class is "
        "known, and its arguments where the program or Python itself raises it. The text of an "
        "exception of NumPy is not, nor what code of the program's own class makes of it.",
        """
@jit
def f(x):
    try:
        return x + np.ones(4)
    except ValueError as e:
        return str(e)

f(np.ones(3))
""",
        """
@jit
def f(x):
    try:
        return x + np.ones(4)
    except ValueError:
        return "shapes"

f(np.ones(3))
""",
    ),
    "TJ025": Explanation(
        "np.errstate that ignores or warns, contextlib.suppress and nullcontext, "
        "warnings.catch_warnings and objects of the program's own classes are known. What other "
        "contexts do at their beginning and end is an effect that compiled code cannot have.",
        """
import warnings

@jit
def f(x):
    with warnings.catch_warnings(record=True) as found:
        y = 1 / x
    return y, len(found)

f(np.ones(3))
""",
        """
import warnings

@jit
def f(x):
    return 1 / x

with warnings.catch_warnings(record=True) as found:
    f(np.ones(3))
""",
    ),
    "TJ026": Explanation(
        "A coroutine is run by an event loop, piece by piece.",
        """
@jit
async def f(x):
    return x + 1

f(np.ones(3)).close()
""",
        """
@jit
def f(x):
    return x + 1

f(np.ones(3))
""",
    ),
    "TJ027": Explanation(
        "Arrays, lists, dicts, attributes of objects, classes and functions, and global names may "
        "be stored into. What hangs on a module may not, nor what Python keeps of a function.",
        """
def helper(x):
    return x + 1

@jit
def f(x):
    helper.__doc__ = "called"
    return helper(x)

f(np.ones(3))
""",
        """
def helper(x):
    return x + 1

helper.calls = 0

@jit
def f(x):
    helper.calls += 1
    return helper(x)

f(np.ones(3))
""",
    ),
    "TJ028": Explanation(
        "Where a traced condition decides whether an exception is raised, compiled code notes "
        "which one and with which values, and it is made when the run has ended. That works for "
        "classes whose making has no effects of its own.",
    ),
    "TJ029": Explanation(
        "A loop that runs over something whose next step only that object knows cannot be part of "
        "compiled code.",
        """
@jit
def f(x, numbers):
    for n in numbers:
        x = x + n
    return x

f(np.ones(3), iter([1.0, 2.0]))
""",
        """
@jit
def f(x, numbers):
    for n in numbers:
        x = x + n
    return x

f(np.ones(3), [1.0, 2.0])
""",
    ),
    "TJ030": Explanation(
        "The function writes to an argument that NumPy has marked as read-only, or of which "
        "several elements are one piece of memory, as np.broadcast_to makes them.",
        """
@jit
def f(x):
    x[0] = 5.0
    return x.sum()

from numpy.lib.stride_tricks import as_strided
f(as_strided(np.zeros(1), (3,), (0,)))
""",
        """
@jit
def f(x):
    x[0] = 5.0
    return x.sum()

f(np.zeros(3))
""",
    ),
    "TJ031": Explanation(
        "A gradient follows every operation between an argument and the result. An operation may "
        "have no derivative rule, or none that can be compiled, such as a loop that carries an "
        "array from iteration to iteration whose size changes. Where real values give a "
        "derivative, the gradient runs eagerly; else it is an error. What is only a constant of "
        "the computation may be marked by tracejit.stop_gradient.",
        """
from tracejit import grad

def total(x):
    y = x
    for _ in range(len(x)):
        y = np.append(y, y.sum())
    return y.sum()

@jit
def f(x):
    return grad(total)(x)

f(np.arange(4.0))
""",
        """
from tracejit import grad

def total(x):
    n = len(x)
    y = np.zeros(2 * n)
    y[:n] = x
    for k in range(n):
        y[n + k] = y[: n + k].sum()
    return y.sum()

@jit
def f(x):
    return grad(total)(x)

f(np.arange(4.0))
""",
    ),
    "TJ032": Explanation(
        "A compiled function is one program, with the functions that it calls written into it. "
        "Functions that call others several times, which do so too, can make a program of any "
        "length of a few lines, and so can loops that are not rolled: there is a limit.",
        """
@jit
def f(x):
    steps = [1, 2] * 15
    for a in steps:
        for b in steps:
            for c in steps:
                x = x + a * b - c
    return x

f(np.ones(3))
""",
        """
@jit
def f(x):
    steps = np.array([1, 2] * 15)
    for a in steps:
        for b in steps:
            for c in steps:
                x = x + a * b - c
    return x

f(np.ones(3))
""",
    ),
    "TJ033": Explanation(
        "In a block of `tracejit.device` operations run in another process. What writes, draws "
        "random numbers or changes what is outside happens in the process that calls; and what "
        "shares such state cannot be on two devices.",
        """
from tracejit import device

@jit
def f(x):
    with device("worker:0"):
        y = np.sin(x)
        print(y.sum())
    return y

f(np.ones(3))
""",
        """
from tracejit import device

@jit
def f(x):
    with device("worker:0"):
        y = np.sin(x)
    print(y.sum())
    return y

f(np.ones(3))
""",
    ),
    "TJ034": Explanation(
        "A loop or a branch rebuilds the lists, dicts and objects that it makes from what they "
        "hold. Where two names stand for one of them, and something is stored into it, both would "
        "have to change; where it is a result, the caller would see one object. So the function "
        "runs eagerly.",
        """
@jit
def f(x):
    head = tail = [0.0, None]
    while x > 1:
        tail[1] = [x, None]
        tail = tail[1]
        x = x / 2
    return head

f(100.0)
""",
        """
@jit
def f(x):
    items = [0.0]
    while x > 1:
        items.append(x)
        x = x / 2
    return items

f(100.0)
""",
    ),
    "TJ035": Explanation(
        "A compile needs some hundred kilobytes of stack, and modules that no other thread is "
        "importing for good. A thread made under a small threading.stack_size() has not the one; a "
        "child that was forked while another thread imported the compiler, for longer than a fork "
        "waits, has not the other: nobody there ends that import. What was compiled before runs "
        "there as it does elsewhere.",
    ),
    "TJ036": Explanation(
        "A loop copies an array at each store, and so takes time by the square of its length, as "
        "plain Python does not. Such calls are timed once their loops copy 64 MiB: one runs as "
        "compiled code, the next one of like size as plain Python, and what was faster answers "
        "the calls of that size and larger ones. The report names the line that copies; calls "
        "with smaller arrays run as compiled code. With strict=True nothing is compared.",
    ),
}
