"""Which module has which calls: drawn by `python -m tests.project.registries --write`."""

__all__ = ["CALLS_OF"]

#: Module and table of `tracejit.frontend` -> names of callees.
CALLS_OF: dict[str, str] = {
    "containers.bisections:BISECT_CALLS": ("bisect_left bisect_right insort_left insort_right"),
    "containers.counters:COUNTER_CALLS": ("Counter defaultdict"),
    "containers.deques:DEQUE_CALLS": ("deque"),
    "containers.heaps:HEAP_CALLS": (
        "heapify heappop heappush heappushpop heapreplace nlargest nsmallest"
    ),
    "python.builtins:CALLS": (
        "accumulate cast chain combinations dict enumerate exit filter format frozenset "
        "islice iter list map ndarray ndenumerate ndindex next pairwise partial permutations "
        "print product range repeat replace repr reversed set slice sorted starmap str super "
        "takewhile tuple update_wrapper wraps zip zip_longest"
    ),
    "python.contexts:CONTEXT_CALLS": (
        "catch_warnings device errstate filterwarnings nullcontext simplefilter suppress"
    ),
    "python.inspection:OBJECT_CALLS": (
        "callable delattr getattr hasattr isinstance issubclass len setattr type"
    ),
    "python.library_objects:CLASS_CALLS": ("poly1d vectorize"),
    "python.text.messages:MESSAGE_CALLS": ("critical debug error info warn warning"),
    "python.numbers:OPERATOR_CALLS": (
        "abs add and_ ascii bin bool bytes chr complex contains delitem divmod eq float "
        "floordiv ge getitem gt hex iadd iand ifloordiv ilshift imatmul imod imul index int "
        "invert ior ipow irshift is_ is_not isub itruediv ixor le lshift lt matmul mod mul ne "
        "neg oct or_ ord pos round rshift setitem sub truediv xor"
    ),
    "python.reductions:FOLD_CALLS": ("all any max min not_ reduce sum truth"),
}
