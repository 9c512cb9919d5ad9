"""The LLVM text of matrix products as NumPy computes them: dot, gemv, syrk, gemm or plain loops."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.codegen.support.blas_calls import Find, RoutineCaller
from tracejit.codegen.support.lapack_text import LAPACK_SIGNATURES, factor_text
from tracejit.codegen.support.triangular_text import factored_text, triangular_text
from tracejit.link.blas import PREFIXES

__all__ = ["HELPERS", "helper_text", "narrow_product_text"]

_SIGNATURES = {
    "gemm": (
        "void",
        "ptr %c, ptr %a, ptr %b, i64 %m, i64 %n, i64 %k, i32 %ta, i32 %tb, "
        "i64 %lda, i64 %ldb, i64 %ldc",
    ),
    "product": (
        "void",
        "ptr %c, ptr %a, ptr %b, i64 %m, i64 %n, i64 %k, i32 %ta, i32 %tb, "
        "i64 %lda, i64 %ldb, i64 %ldc",
    ),
    "gemv": ("void", "ptr %y, ptr %a, ptr %x, i64 %m, i64 %k, i32 %ta, i64 %lda, i64 %incx"),
    "dot": ("void", "ptr %out, ptr %x, ptr %y, i64 %k, i64 %incx, i64 %incy"),
    "trsm": (
        "void",
        "ptr %x, ptr %a, i64 %n, i64 %k, i64 %lda, i32 %upper, i32 %trans, i32 %unit",
    ),
    "getrs": ("i64", "ptr %x, ptr %p, ptr %ipiv, i64 %n, i64 %k, i32 %trans"),
    **LAPACK_SIGNATURES,
}


def _types(parameters: str) -> str:
    return ", ".join(parameter.split()[0] for parameter in parameters.split(", "))


#: `numpy.linalg` factors single precision in double.
_DOUBLE = ("f64", "c128")

#: Helper name -> (result, parameter types).
HELPERS: dict[str, tuple[str, str]] = {
    f"tj_{name}_{dtype}": (result, _types(parameters))
    for name, (result, parameters) in _SIGNATURES.items()
    for dtype in (_DOUBLE if name in LAPACK_SIGNATURES or name == "getrs" else PREFIXES)
}

# CBLAS's enumerations.
_ROW, _COLUMN, _NO_TRANS, _TRANS, _UPPER = 101, 102, 111, 112, 121
_MAX_INT32 = 2**31 - 1


class _ProductWriter(RoutineCaller):
    def loops(self) -> str:
        """Define the triple loop that NumPy runs where it does not call BLAS."""
        name = f"{self.name}.loops"
        self.begin(
            "void",
            f'"{name}"',
            "ptr %c, ptr %a, ptr %b, i64 %m, i64 %n, i64 %k, "
            "i64 %am, i64 %ak, i64 %bk, i64 %bn, i64 %ldc",
            "internal ",
        )
        sums = [f"%s{k}" for k in range(self.parts)]
        self.do("%some = icmp sgt i64 %k, 0", "br label %rows", "rows:")
        self.do("%i = phi i64 [ 0, %entry ], [ %i1, %row_end ]", "br label %columns", "columns:")
        self.do("%j = phi i64 [ 0, %rows ], [ %j1, %store ]")
        self.do("br i1 %some, label %inner, label %store", "inner:")
        self.do("%p = phi i64 [ 0, %columns ], [ %p1, %inner ]")
        for s in sums:
            self.do(f"{s} = phi {self.scalar} [ 0.0, %columns ], [ {s}n, %inner ]")
        x = self.load(self.at("%a", self.offset(("%i", "%am"), ("%p", "%ak"))))
        y = self.load(self.at("%b", self.offset(("%p", "%bk"), ("%j", "%bn"))))
        for s, product in zip(sums, self._product(x, y), strict=True):
            self.do(f"{s}n = fadd {self.scalar} {s}, {product}")
        self.do("%p1 = add i64 %p, 1", "%p_more = icmp slt i64 %p1, %k")
        self.do("br i1 %p_more, label %inner, label %store", "store:")
        totals = []
        for s in sums:
            totals.append(self.op(f"phi {self.scalar} [ 0.0, %columns ], [ {s}n, %inner ]"))
        self.store(totals, self.at("%c", self.offset(("%i", "%ldc"), ("%j", "1"))))
        self.do("%j1 = add i64 %j, 1", "%j_more = icmp slt i64 %j1, %n")
        self.do("br i1 %j_more, label %columns, label %row_end", "row_end:")
        self.do("%i1 = add i64 %i, 1", "%i_more = icmp slt i64 %i1, %m")
        self.do("br i1 %i_more, label %rows, label %done", "done:", "ret void")
        self.end()
        return name

    def _product(self, x: Sequence[str], y: Sequence[str]) -> list[str]:
        def multiply(a: str, b: str) -> str:
            return self.op(f"fmul {self.scalar} {a}, {b}")

        if self.parts == 1:
            return [multiply(x[0], y[0])]
        real, imaginary = multiply(x[0], y[0]), multiply(x[0], y[1])
        return [
            self.op(f"fsub {self.scalar} {real}, {multiply(x[1], y[1])}"),
            self.op(f"fadd {self.scalar} {imaginary}, {multiply(x[1], y[0])}"),
        ]

    def product(self) -> bool:
        """Define the whole of gemm; False where a routine was not found."""
        routines = [self.routine(name) for name in ("gemm", "gemv", "syrk")]
        found = [r for r in routines if r is not None]
        if len(found) < len(routines):
            return False
        loops = self.loops()
        self.begin("void", self.name, _SIGNATURES["gemm"][1])
        self.do("%some_rows = icmp sgt i64 %m, 0", "%some_columns = icmp sgt i64 %n, 0")
        self.do("%some = and i1 %some_rows, %some_columns")
        self.do("br i1 %some, label %strides, label %done", "done:", "ret void", "strides:")
        for letter, outer, inner in (("a", "m", "k"), ("b", "k", "n")):
            # Element strides along both axes, and whether BLAS can describe them.
            ld, t = f"%ld{letter}", f"%is_t{letter}"
            self.do(f"{t} = icmp ne i32 %t{letter}, 0")
            self.do(f"%{letter}{outer} = select i1 {t}, i64 1, i64 {ld}")
            self.do(f"%{letter}{inner} = select i1 {t}, i64 {ld}, i64 1")
            self.do(f"%{letter}_width = select i1 {t}, i64 %{outer}, i64 %{inner}")
            self.do(f"%{letter}_fits = icmp sge i64 {ld}, %{letter}_width")
        self.do("%fits = and i1 %a_fits, %b_fits")
        self.do("%row = icmp eq i64 %m, 1", "%column = icmp eq i64 %n, 1")
        self.do("%both = and i1 %row, %column", "%either = or i1 %row, %column")
        self.do("%empty = icmp eq i64 %k, 0")
        bits = min(r.int_bits for r in found)
        if bits == 32:
            largest = "%m"
            for size in ("%n", "%k", "%lda", "%ldb", "%ldc"):
                larger = self.op(f"icmp ugt i64 {size}, {largest}")
                largest = self.op(f"select i1 {larger}, i64 {size}, i64 {largest}")
            huge = self.op(f"icmp ugt i64 {largest}, {_MAX_INT32}")
            by_hand = self.op(f"or i1 {huge}, %empty")
        else:
            by_hand = "%empty"
        self.do(f"br i1 {by_hand}, label %loops, label %sized", "loops:")
        self.do(
            f'call void @"{loops}"(ptr %c, ptr %a, ptr %b, i64 %m, i64 %n, i64 %k, '
            "i64 %am, i64 %ak, i64 %bk, i64 %bn, i64 %ldc)",
            "ret void",
            "sized:",
            "br i1 %both, label %try_dot, label %not_dot",
            "try_dot:",
        )
        self._dot()
        self.do("not_dot:", "%thin = icmp eq i64 %k, 1")
        self.do("br i1 %thin, label %loops, label %thick", "thick:")
        self.do("br i1 %either, label %vector, label %matrices", "vector:")
        self._vector()
        self.do("matrices:", "br i1 %fits, label %try_syrk, label %loops", "try_syrk:")
        self._matrices()
        self.end()
        return True

    def _dot(self) -> None:
        self.do("%fore = icmp sgt i64 %ak, 0", "%back = icmp sgt i64 %bk, 0")
        self.do("%ahead = and i1 %fore, %back")
        name = "dot" if self.parts == 1 else "dotu"
        routine = self.routine(name)
        if routine is None:
            self.do("br label %loops")
            return
        self.do("br i1 %ahead, label %dot, label %loops", "dot:")
        arguments = ("int %k", "ptr %a", "int %ak", "ptr %b", "int %bk")
        if self.parts == 1:
            values = [self.call(name, *arguments, result=self.scalar)]
        else:
            place = self.op(f"alloca [2 x {self.scalar}]")
            self.call(name, *arguments, f"ptr {place}")
            values = self.load(place)
        # NumPy adds to a double that starts at 0: -0.0 becomes 0.0.
        for k, value in enumerate(values):
            wide = value if self.scalar == "double" else self.op(f"fpext float {value} to double")
            total = self.op(f"fadd double 0.0, {wide}")
            narrow = self.scalar == "float"
            values[k] = self.op(f"fptrunc double {total} to float") if narrow else total
        self.store(values, "%c")
        self.do("ret void")

    def _vector(self) -> None:
        """One row times B, or A times one column: NumPy calls gemv with its matrix transposed."""
        pick = "select i1 %row,"
        self.do(f"%inc = {pick} i64 %ak, i64 %bk", "%v_ahead = icmp sgt i64 %inc, 0")
        self.do(f"%mat_fits = {pick} i1 %b_fits, i1 %a_fits", "%ok = and i1 %mat_fits, %v_ahead")
        self.do("br i1 %ok, label %gemv, label %loops", "gemv:")
        self.do(f"%mat = {pick} ptr %b, ptr %a", f"%vec = {pick} ptr %a, ptr %b")
        self.do(f"%ld = {pick} i64 %ldb, i64 %lda", f"%length = {pick} i64 %n, i64 %m")
        self.do(f"%step = {pick} i64 1, i64 %ldc", "%straight_a = xor i1 %is_ta, true")
        # Whether each output element belongs to one contiguous line of the matrix.
        self.do(f"%lines = {pick} i1 %is_tb, i1 %straight_a")
        routine = self.routine("gemv")
        assert routine is not None
        tail = ("constant 1.0", "ptr %mat", "int %ld", "ptr %vec", "int %inc", "constant 0.0")
        if routine.convention == "cblas":
            order = self.op(f"select i1 %lines, i32 {_COLUMN}, i32 {_ROW}")
            head = [f"enum {order}", f"enum {_TRANS}", "int %k", "int %length"]
        else:
            letter = self.op(f"select i1 %lines, i8 {ord('T')}, i8 {ord('N')}")
            rows = self.op("select i1 %lines, i64 %k, i64 %length")
            columns = self.op("select i1 %lines, i64 %length, i64 %k")
            head = [f"char {letter}", f"int {rows}", f"int {columns}"]
        self.call("gemv", *head, *tail, "ptr %c", "int %step")
        self.do("ret void")

    def _matrices(self) -> None:
        self.do("%same = icmp eq ptr %a, %b", "%square = icmp eq i64 %m, %n")
        self.do("%turned = xor i1 %is_ta, %is_tb", "%pitch = icmp eq i64 %lda, %ldb")
        self.do("%u1 = and i1 %same, %square", "%u2 = and i1 %turned, %pitch")
        self.do("%u = and i1 %u1, %u2", "br i1 %u, label %syrk, label %gemm", "gemm:")
        a_scaled = ("constant 1.0", "ptr %a", "int %lda")
        out = ("constant 0.0", "ptr %c", "int %ldc")
        gemm = self.routine("gemm")
        assert gemm is not None
        if gemm.convention == "cblas":
            ta, tb = (self.op(f"select i1 %is_t{x}, i32 {_TRANS}, i32 {_NO_TRANS}") for x in "ab")
            sizes = ("int %m", "int %n", "int %k")
            head = [f"enum {_ROW}", f"enum {ta}", f"enum {tb}", *sizes]
            self.call("gemm", *head, *a_scaled, "ptr %b", "int %ldb", *out)
        else:
            # Column-major, the transposed product: C' = B' A'.
            ta, tb = (self.op(f"select i1 %is_t{x}, i8 {ord('T')}, i8 {ord('N')}") for x in "ab")
            head = [f"char {tb}", f"char {ta}", "int %n", "int %m", "int %k", "constant 1.0"]
            self.call("gemm", *head, "ptr %b", "int %ldb", "ptr %a", "int %lda", *out)
        self.do("ret void", "syrk:")
        syrk = self.routine("syrk")
        assert syrk is not None
        if syrk.convention == "cblas":
            trans = self.op(f"select i1 %is_ta, i32 {_TRANS}, i32 {_NO_TRANS}")
            head = [f"enum {_ROW}", f"enum {_UPPER}", f"enum {trans}"]
        else:
            letter = self.op(f"select i1 %is_ta, i8 {ord('N')}, i8 {ord('T')}")
            head = [f"char {ord('L')}", f"char {letter}"]
        self.call("syrk", *head, "int %m", "int %k", *a_scaled, *out)
        self.mirror("%c", ("%ldc", "1"), "%m", copy=True)
        self.do("ret void")


#: How the narrower products are a matrix product: its arguments in terms of theirs.
_AS_GEMM = {
    "gemv": "ptr %y, ptr %a, ptr %x, i64 %m, i64 1, i64 %k, i32 %ta, i32 0, "
    "i64 %lda, i64 %incx, i64 1",
    # A row that is stored as a column takes any step, and so does a column stored as a row.
    "dot": "ptr %out, ptr %x, ptr %y, i64 1, i64 1, i64 %k, i32 1, i32 0, "
    "i64 %incx, i64 %incy, i64 1",
}


def narrow_product_text(name: str) -> str:
    """The LLVM text of a gemv or dot helper, which calls a product by the symbol `name.gemm`."""
    kind = name.split("_")[1]
    return "\n".join(
        [
            f'declare void @"{name}.gemm"({_types(_SIGNATURES["gemm"][1])})',
            f"define void @{name}({_SIGNATURES[kind][1]}) nounwind {{",
            f'  call void @"{name}.gemm"({_AS_GEMM[kind]})',
            "  ret void",
            "}",
            "",
        ]
    )


def helper_text(name: str, find: Find) -> str | None:
    """The LLVM text of a gemm or LAPACK helper; None where a routine was not found."""
    kind = name.split("_")[1]
    if kind in LAPACK_SIGNATURES:
        return factor_text(name, kind, find)
    if kind == "trsm":
        return triangular_text(name, _SIGNATURES[kind][1], find)
    if kind == "getrs":
        return factored_text(name, _SIGNATURES[kind][1], _types(_SIGNATURES["trsm"][1]), find)
    writer = _ProductWriter(name, find)
    return writer.text() if writer.product() else None
