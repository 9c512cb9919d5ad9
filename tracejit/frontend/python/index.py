"""Which module has which calls: drawn by `python -m tests.project.registries --write`."""

__all__ = ["CALLS_OF"]

#: Module of `tracejit.frontend.python` -> names of callees.
CALLS_OF: dict[str, str] = {
    "builtins": (
        "Counter _array_converter abs accumulate add all and_ any ascii bin bisect_left "
        "bisect_right bool bytes callable cast catch_warnings chain chr combinations complex "
        "contains critical debug defaultdict delattr delitem deque device dict divmod "
        "enumerate eq error errstate exit filter filterwarnings float floordiv format "
        "frozenset ge getattr getitem gt hasattr heapify heappop heappush heappushpop "
        "heapreplace hex iadd iand ifloordiv ilshift imatmul imod imul index info insort_left "
        "insort_right int invert ior ipow irshift is_ is_not isinstance islice issubclass "
        "isub iter itruediv ixor le len list lshift lt map matmul max min mod mul ndarray "
        "ndenumerate ndindex ne neg next nlargest not_ nsmallest nullcontext oct or_ ord "
        "pairwise partial permutations pos print product range reduce repeat replace repr "
        "reversed round rshift set setattr setitem simplefilter slice sorted starmap str sub "
        "sum super suppress takewhile truediv truth tuple type update_wrapper warn warning "
        "wraps xor zip zip_longest"
    ),
}
