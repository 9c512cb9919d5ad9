"""What each code means at length, with a program that causes it and one that does not.

The programs are run by the tests: the first must end in the code, the second must compile.
"""

from __future__ import annotations

from tracejit.cli.explanation import Explanation
from tracejit.cli.explanations_of_flow import LATER

__all__ = ["EXPLANATIONS"]


EXPLANATIONS: dict[str, Explanation] = {
    "TJ001": Explanation(
        "While a function is traced, arrays and numbers that may differ from call to call have no "
        "values yet. Branches, loops, indices and arithmetic do not need them. Something here "
        "does: a key of a dict, a size in a text, a comparison of whole lists.",
        """
@jit
def f(x, names):
    return names[int(x[0])] * x  # which entry of a dict?

f(np.ones(3), {0: 1.0, 1: 2.0})
""",
        """
@jit
def f(x, table):
    return table[int(x[0])] * x  # an array can be indexed by a traced value

f(np.ones(3), np.array([1.0, 2.0]))
""",
    ),
    "TJ002": Explanation(
        "The compiler follows your own functions, and knows what pure functions of NumPy and of "
        "the standard library do. Those of NumPy and SciPy for which it has no code are called "
        "by the compiled program while it runs, and so are random numbers; under `strict=True` "
        "that is an error, too. Any other call might read a clock or a file, or change something, "
        "so that its result must not be kept from the first call.",
        """
import time

@jit
def f(x):
    return x + time.time()

f(np.ones(3))
""",
        """
import time

@jit
def f(x, now):
    return x + now

f(np.ones(3), time.time())
""",
    ),
    "TJ003": Explanation(
        "A graph holds arrays of bool, integer, float and complex dtypes in native byte order, "
        "and numbers. Other arrays (objects, texts, dates, long doubles, subclasses of ndarray, "
        "elements that are not aligned), ints of more than 64 bits, and results of other classes "
        "than the usual containers are for eager execution.",
        """
@jit
def f(x):
    return x + 1

f(np.array([1, 2, None])[:2])
""",
        """
@jit
def f(x):
    return x + 1

f(np.array([1, 2, None])[:2].astype(np.int64))
""",
    ),
    "TJ004": Explanation(
        "The function is known, but not with these arguments, such as a rarely used keyword, and "
        "the program cannot call it as it is either: it gives a view, or takes a function. "
        "`tracejit ops` lists what there is.",
        """
@jit
def f(x):
    return x.view(np.int64) + 1

f(np.ones((3, 3)))
""",
        """
@jit
def f(x):
    return x.astype(np.int64) + 1

f(np.ones((3, 3)))
""",
    ),
    "TJ005": Explanation(
        "A store would be seen outside in a way that compiled code cannot give it: through a view "
        "that is read-only, under a name that a loop binds to other arrays later, or into memory "
        "that two results share.",
        """
@jit
def f(x):
    y = first = x * 1
    while y.sum() < 9:
        y[0] += 1
        y = y * 2
    return first[0]

f(np.ones(3))
""",
        """
@jit
def f(x):
    y = first = x * 1
    while y.sum() < 9:
        y[0] += 1
        y *= 2
    return first[0]

f(np.ones(3))
""",
    ),
    "TJ006": Explanation(
        "What a function reads outside its arguments is read again at every call, by the way that "
        "led there. Here there is no such way, or going it might have effects: an iterator, a "
        "set, an object with its own __getattr__.",
        """
STEPS = iter([1.0, 2.0])

@jit
def f(x):
    return x + next(STEPS)

f(np.ones(3))
""",
        """
STEPS = [1.0, 2.0]

@jit
def f(x):
    return x + STEPS[0]

f(np.ones(3))
""",
    ),
    "TJ007": Explanation(
        "Capture works on the source, and checks that it is what runs. A function made by exec "
        "has none; one whose file has changed since it was imported, or whose code another tool "
        "has changed, has another.",
        """
exec("def f(x):\\n    return x + 1")
f = jit(f)

f(np.ones(3))
""",
        """
@jit
def f(x):
    return x + 1

f(np.ones(3))
""",
    ),
    "TJ008": Explanation(
        "The construct has no meaning in a graph. The function runs eagerly as a whole; parts of "
        "it can be compiled as functions of their own.",
        """
@jit
def f(x):
    class Scale:
        factor = 2

    return x * Scale.factor

f(np.ones(3))
""",
        """
class Scale:
    factor = 2

@jit
def f(x):
    return x * Scale.factor

f(np.ones(3))
""",
    ),
    "TJ009": Explanation(
        "Compiled code does not look at NumPy's floating-point flags, and gives no warnings. Where "
        "np.seterr or np.errstate ask for exceptions, calls or prints (`raise`, `call`, `print`, "
        "`log`) for any kind of error, only eager execution gives them.",
        """
@jit
def f(x):
    return x + 1

with np.errstate(divide="raise"):
    f(np.ones(3))
""",
        """
@jit
def f(x):
    return x + 1

with np.errstate(divide="ignore"):
    f(np.ones(3))
""",
    ),
    "TJ010": Explanation(
        "An index was out of bounds, a number was divided by zero, an int grew beyond 64 bits, a "
        "matrix was singular. The compiled run took back what it had stored, and the call was "
        "repeated by Python, which raised its own exception or found the exact answer. The code "
        "stays: the next call is answered by it again. The report counts such calls. With "
        "`jit(bounds_check=False)` indices are not checked at all, and must be in range.",
    ),
    "TJ011": Explanation(
        "What a loop carries from one iteration to the next, or what is used after a branch, has "
        "another type each time, such as an array that gains an axis. Ints that become floats, "
        "arrays that grow or shrink, and None before the first iteration are no problem.",
        """
@jit
def f(x):
    while x.sum() < 9:
        x = x[None] + x
    return x

f(np.ones(3))
""",
        """
@jit
def f(x):
    while x.sum() < 9:
        x = np.concatenate([x, x])
    return x

f(np.ones(3))
""",
    ),
    "TJ012": Explanation(
        "Each new kind of arguments (dtype, number of axes, layout, structure, constant) is "
        "compiled by itself, and so is each decision that the function takes on sizes. There is a "
        "limit, so that a function that is different at every call does not compile for ever: "
        "of a text, a slice or another constant argument eight values are compiled. "
        "`f.report()` says what was new each time.",
        """
@jit
def f(x, k):
    return sum([x] * k)  # a list of k elements: code for each k

for k in range(2, 30):
    f(np.ones(3), k)
""",
        """
@jit
def f(x, k):
    return x * k

for k in range(2, 30):
    f(np.ones(3), k)
""",
    ),
    "TJ013": Explanation(
        "Tracing or compiling ended in an error that the function itself does not raise: a defect "
        "of the compiler. The answer is right, since the call was run eagerly.",
    ),
    "TJ014": Explanation(
        "A value of a trace was kept, in a global or an attribute, and used after the trace had "
        "ended, or in another one.",
    ),
    "TJ015": Explanation(
        "The size of an array is a symbol in compiled code, and everything that depends on it is "
        "arithmetic on symbols. What only the data decides, such as how many elements a mask "
        "selects, gets a symbol when it has been computed; but how far the elements of an array "
        "lie apart must be known before.",
        """
@jit
def f(x):
    return x[:: int(x.sum())]

f(np.ones(3))
""",
        """
@jit
def f(x):
    return x[x > 0][: int(x.sum())]

f(np.ones(3))
""",
    ),
    **LATER,
}
