"""Which module has which calls: drawn by `python -m tests.project.registries --write`."""

__all__ = ["CALLS_OF"]

#: Module of `tracejit.frontend.python` -> names of callees.
CALLS_OF: dict[str, str] = {
    "builtins": (
        "Counter _array_converter abs accumulate acos acosh add all and_ any ascii asin asinh "
        "atan atan2 atanh bin bisect_left bisect_right bool bytes callable cast "
        "catch_warnings cbrt ceil chain chr comb combinations complex contains copysign cos "
        "cosh critical debug defaultdict degrees delattr delitem deque device dict dist "
        "divmod enumerate eq erf erfc error errstate exit exp exp2 expm1 fabs factorial "
        "filter filterwarnings float floor floordiv fmod format frexp frozenset fsum gamma "
        "gcd ge getattr getitem gt hasattr heapify heappop heappush heappushpop heapreplace "
        "hex hypot iadd iand ifloordiv ilshift imatmul imod imul index info insort_left "
        "insort_right int invert ior ipow irshift is_ is_not isclose isfinite isinf "
        "isinstance islice isnan isqrt issubclass isub iter itruediv ixor lcm ldexp le len "
        "lgamma list log log10 log1p log2 lshift lt map matmul max min mod modf mul ndarray "
        "ndenumerate ndindex ne neg next nextafter nlargest not_ nsmallest nullcontext oct "
        "or_ ord pairwise partial perm permutations phase polar pos pow print prod product "
        "radians range rect reduce remainder repeat replace repr reversed round rshift set "
        "setattr setitem simplefilter sin sinh slice sorted sqrt starmap str sub sum super "
        "suppress takewhile tan tanh truediv trunc truth tuple type ulp update_wrapper warn "
        "warning wraps xor zip zip_longest"
    ),
}
