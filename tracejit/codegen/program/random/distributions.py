"""The distributions of Generators and RandomStates, by NumPy's C functions."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.codegen.program.random.draw import BAD, Distribution, Parameter, bad_text

__all__ = ["DISTRIBUTIONS", "fill_text"]

_P = Parameter
#: NumPy keeps what it computes of the parameters beside the stream.
_BINOMIAL = """
define internal i64 @tj_binomial(ptr %bits, i64 %n, double %p, ptr %kept) {
  %x = call i64 @random_binomial(ptr %bits, double %p, i64 %n, ptr %kept)
  ret i64 %x
}
"""
#: RandomStates draw a number also where there is nothing to try.
_NOTHING = """
define internal i1 @{name}(i64 %n, double %p) {{
  %none = icmp eq i64 %n, 0
  %never = fcmp ueq double %p, 0.0
  %out = or i1 %none, %never
  ret i1 %out
}}
"""
_TOO_MANY = """
define internal i1 @{name}(i64 %good, i64 %bad, i64 %sample) {{
  %all = add i64 %good, %bad
  %out = icmp sgt i64 %sample, %all
  ret i1 %out
}}
"""
#: Those beyond may have rates for which NumPy raises.
_TOO_RARE = """
define internal i1 @{name}(double %n, double %p) {{
  %many = fcmp ugt double %n, 1000000000.0
  %rare = fcmp ult double %p, 0x3EB0C6F7A0B5ED8D
  %out = or i1 %many, %rare
  ret i1 %out
}}
"""
_NO_TRIANGLE = """
define internal i1 @{name}(double %left, double %mode, double %right) {{
  %a = fcmp ugt double %left, %mode
  %b = fcmp ugt double %mode, %right
  %c = fcmp ueq double %left, %right
  %ab = or i1 %a, %b
  %abc = or i1 %ab, %c
  ret i1 %abc
}}
"""
_LOC, _SCALE = _P("loc", 0.0), _P("scale", 1.0, "+")
_BOTH: dict[str, Distribution] = {
    "random": Distribution("random_standard_uniform"),
    "triangular": Distribution(
        "random_triangular", (_P("left"), _P("mode"), _P("right")), together=_NO_TRIANGLE
    ),
    "binomial": Distribution(
        "tj_binomial",
        (_P("n", kind="i64"), _P("p", None, "0 to 1")),
        discrete=True,
        text=_BINOMIAL,
        calls=(("random_binomial", "i64", ("ptr", "double", "i64", "ptr")),),
        state=512,
    ),
    "laplace": Distribution("random_laplace", (_LOC, _SCALE)),
    "logistic": Distribution("random_logistic", (_LOC, _SCALE)),
    "gumbel": Distribution("random_gumbel", (_LOC, _SCALE)),
}
_GENERATOR: dict[str, Distribution] = {
    **_BOTH,
    "standard_normal": Distribution("random_standard_normal"),
    "standard_exponential": Distribution("random_standard_exponential"),
    "normal": Distribution("random_normal", (_LOC, _SCALE)),
    "exponential": Distribution("random_exponential", (_SCALE,)),
    "lognormal": Distribution("random_lognormal", (_P("mean", 0.0), _P("sigma", 1.0, "+"))),
    "rayleigh": Distribution("random_rayleigh", (_SCALE,)),
    "standard_gamma": Distribution("random_standard_gamma", (_P("shape", None, "+"),)),
    "gamma": Distribution("random_gamma", (_P("shape", None, "+"), _SCALE)),
    "beta": Distribution("random_beta", (_P("a", None, "0"), _P("b", None, "0"))),
    "chisquare": Distribution("random_chisquare", (_P("df", None, "0"),)),
    "standard_t": Distribution("random_standard_t", (_P("df", None, "0"),)),
    "weibull": Distribution("random_weibull", (_P("a", None, "+"),)),
    "pareto": Distribution("random_pareto", (_P("a", None, "0"),)),
    "f": Distribution("random_f", (_P("dfnum", None, "0"), _P("dfden", None, "0"))),
    "noncentral_chisquare": Distribution(
        "random_noncentral_chisquare", (_P("df", None, "0"), _P("nonc", None, "+"))
    ),
    "noncentral_f": Distribution(
        "random_noncentral_f",
        (_P("dfnum", None, "0"), _P("dfden", None, "0"), _P("nonc", None, "+")),
    ),
    "power": Distribution("random_power", (_P("a", None, "0"),)),
    "standard_cauchy": Distribution("random_standard_cauchy"),
    "vonmises": Distribution("random_vonmises", (_P("mu"), _P("kappa", None, "+"))),
    "wald": Distribution("random_wald", (_P("mean", None, "0"), _P("scale", None, "0"))),
    "geometric": Distribution("random_geometric", (_P("p", None, "above 0 to 1"),), discrete=True),
    "logseries": Distribution("random_logseries", (_P("p", None, "0 to below 1"),), discrete=True),
    "zipf": Distribution("random_zipf", (_P("a", None, "above 1"),), discrete=True),
    "hypergeometric": Distribution(
        "random_hypergeometric",
        (_P("ngood", kind="i64"), _P("nbad", kind="i64"), _P("nsample", kind="i64")),
        discrete=True,
        together=_TOO_MANY,
    ),
    "negative_binomial": Distribution(
        "random_negative_binomial",
        (_P("n", None, "0"), _P("p", None, "above 0 to 1")),
        discrete=True,
        together=_TOO_RARE,
    ),
    "poisson": Distribution("random_poisson", (_P("lam", 1.0, "rate"),), discrete=True),
}
_STATE: dict[str, Distribution] = {
    **_BOTH,
    "binomial": _BOTH["binomial"]._replace(together=_NOTHING),
    "random_sample": _BOTH["random"],
    "rand": _BOTH["random"],
    "standard_normal": Distribution("tj_legacy_gauss"),
    "randn": Distribution("tj_legacy_gauss"),
    "normal": Distribution("tj_legacy_normal", (_LOC, _SCALE)),
    "exponential": Distribution("tj_legacy_exponential", (_SCALE,)),
}
DISTRIBUTIONS = {"Generator": _GENERATOR, "RandomState": _STATE}

#: `n` numbers one after the other, if all parameters that are arrays are as they must be.
_FILL = """
define internal i1 @{name}(ptr %bits, ptr %out, i64 %n{parameters}) {{
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %before, label %done
before:
  br label %{first}
{checked}loop:
  %i = phi i64 [ 0, %{last} ], [ %next, %loop ]
{loaded}  %x = call {kind} @{function}(ptr %bits{given})
  %place = getelementptr {kind}, ptr %out, i64 %i
  store {kind} %x, ptr %place
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i1 false
{failed}}}
"""
_CHECK = """check:
  %k = phi i64 [ 0, %before ], [ %k.next, %good ]
{tested}  br i1 {bad}, label %fail, label %good
good:
  %k.next = add i64 %k, 1
  %k.more = icmp slt i64 %k.next, %n
  br i1 %k.more, label %check, label %loop
"""


def fill_text(name: str, found: Distribution, arrays: Sequence[bool]) -> str:
    """The text of a function that draws many numbers; an i1 says that some parameter is bad."""
    parameters, given, loaded, tested, bad = "", "", "", "", "false"
    for j, (p, is_array) in enumerate(zip(found.parameters, arrays, strict=True)):
        parameters += f", {'ptr' if is_array else p.kind} %p{j}"
        given += f", {p.kind} %v{j}" if is_array else f", {p.kind} %p{j}"
        if not is_array:
            continue
        loaded += f"  %a{j} = getelementptr double, ptr %p{j}, i64 %i\n"
        loaded += f"  %v{j} = load double, ptr %a{j}\n"
        if BAD[p.condition]:
            tested += f"  %b{j} = getelementptr double, ptr %p{j}, i64 %k\n"
            tested += f"  %w{j} = load double, ptr %b{j}\n"
            tested += f"  %t{j} = call i1 @{bad_text(p.condition)[0]}(double %w{j})\n"
            tested += f"  %u{j} = or i1 {bad}, %t{j}\n"
            bad = f"%u{j}"
    if found.state:
        parameters, given = f"{parameters}, ptr %state", f"{given}, ptr %state"
    return _FILL.format(
        name=name,
        parameters=parameters,
        given=given,
        loaded=loaded,
        kind="i64" if found.discrete else "double",
        function=found.function,
        first="check" if tested else "loop",
        last="good" if tested else "before",
        checked=_CHECK.format(tested=tested, bad=bad) if tested else "",
        failed="fail:\n  ret i1 true\n" if tested else "",
    )
