"""The LLVM text of factorisations in place on column-major memory, as `numpy.linalg` runs them."""

from __future__ import annotations

from tracejit.codegen.support.blas_calls import Find, RoutineCaller

__all__ = ["INVERSE_WORK", "LAPACK_SIGNATURES", "factor_text"]

LAPACK_SIGNATURES = {
    "gesv": ("i64", "ptr %a, ptr %b, i64 %n, i64 %nrhs, ptr %ipiv"),
    "inv": ("i64", "ptr %a, ptr %out, i64 %n, ptr %ipiv"),
    "getrf": ("i64", "ptr %a, i64 %n, ptr %ipiv"),
    "ludiag": ("i64", "ptr %a, ptr %out, i64 %n, ptr %ipiv"),
    "pivoted": ("void", "ptr %a, ptr %ipiv, ptr %out, i64 %n"),
    "getri": ("i64", "ptr %a, ptr %ipiv, ptr %out, i64 %n, ptr %pivots, ptr %work"),
    "potrf": ("i64", "ptr %a, i64 %n, i32 %upper"),
}
_ROUTINES = {
    "gesv": "gesv",
    "inv": "gesv",
    "getrf": "getrf",
    "ludiag": "getrf",
    "pivoted": "getrf",
    "getri": "getri",
    "potrf": "potrf",
}
#: Elements of `work` that `getri` gets for each row: as many as its blocks have columns.
INVERSE_WORK = 64


class _FactorWriter(RoutineCaller):
    def start(self, kind: str) -> None:
        """The function's head, `%ld` = max(n, 1) and the cell for info."""
        result, parameters = LAPACK_SIGNATURES[kind]
        self.begin(result, self.name, parameters)
        # A library with narrow integers writes the low half only.
        self.do("%info = alloca i64", "store i64 0, ptr %info")
        self.do("%empty = icmp slt i64 %n, 1", "%ld = select i1 %empty, i64 1, i64 %n")

    def finish(self, int_bits: int) -> None:
        """Return info, sign-extended."""
        value = self.op(f"load i{int_bits}, ptr %info")
        wide = value if int_bits == 64 else self.op(f"sext i{int_bits} {value} to i64")
        self.do(f"ret i64 {wide}")
        self.end()

    def solve(self, b: str, columns: str) -> None:
        """Factor a and solve for the columns at `b`."""
        self.call(
            "gesv",
            "int %n",
            f"int {columns}",
            "ptr %a",
            "int %ld",
            "ptr %ipiv",
            f"ptr {b}",
            "int %ld",
            "ptr %info",
        )

    def identity(self, base: str) -> None:
        """Fill an n by n matrix with zeros and a diagonal of ones."""
        size = 8 * self.parts if self.scalar == "double" else 4 * self.parts
        count = self.op("mul i64 %n, %n")
        nbytes = self.op(f"mul i64 {count}, {size}")
        self.declarations["memset"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
        self.do(f"call void @llvm.memset.p0.i64(ptr {base}, i8 0, i64 {nbytes}, i1 false)")
        self.do("%pitch = add i64 %n, 1", "br i1 %empty, label %filled, label %before")
        self.do("before:", "br label %diagonal", "diagonal:")
        self.do("%i = phi i64 [ 0, %before ], [ %i1, %diagonal ]")
        place = self.at(base, self.op("mul i64 %i, %pitch"))
        self.do(f"store {self.scalar} 1.0, ptr {place}")
        self.do("%i1 = add i64 %i, 1", "%more = icmp slt i64 %i1, %n")
        self.do("br i1 %more, label %diagonal, label %filled", "filled:")

    def widen_pivots(self) -> None:
        """Turn n 32-bit integers into 64-bit ones in place, from the end."""
        self.do("br i1 %empty, label %widened, label %before")
        self.do("before:", "br label %widen", "widen:")
        self.do("%i = phi i64 [ %n, %before ], [ %i1, %widen ]", "%i1 = sub i64 %i, 1")
        narrow = self.op("getelementptr i32, ptr %ipiv, i64 %i1")
        value = self.op(f"sext i32 {self.op(f'load i32, ptr {narrow}')} to i64")
        place = self.op("getelementptr i64, ptr %ipiv, i64 %i1")
        self.do(f"store i64 {value}, ptr {place}", "%more = icmp sgt i64 %i1, 0")
        self.do("br i1 %more, label %widen, label %widened", "widened:")

    def factor(self, int_bits: int) -> None:
        """Factor a by rows interchanged, with the pivots as 64-bit integers."""
        self.call("getrf", "int %n", "int %n", "ptr %a", "int %ld", "ptr %ipiv", "ptr %info")
        if int_bits == 32:
            self.widen_pivots()

    def narrow_pivots(self) -> str:
        """The interchanges as 32-bit integers."""
        self.do("br i1 %empty, label %narrowed, label %before_narrow", "before_narrow:")
        self.do(
            "br label %narrow", "narrow:", "%j = phi i64 [ 0, %before_narrow ], [ %j1, %narrow ]"
        )
        wide = self.op(f"load i64, ptr {self.op('getelementptr i64, ptr %ipiv, i64 %j')}")
        value = self.op(f"trunc i64 {wide} to i32")
        place = self.op("getelementptr i32, ptr %pivots, i64 %j")
        self.do(f"store i32 {value}, ptr {place}", "%j1 = add i64 %j, 1")
        self.do("%j_more = icmp slt i64 %j1, %n", "br i1 %j_more, label %narrow, label %narrowed")
        self.do("narrowed:")
        return "%pivots"

    def inverse(self, int_bits: int) -> None:
        """Copy the factors, and make the inverse of them in place."""
        size = (8 if self.scalar == "double" else 4) * self.parts
        nbytes = self.op(f"mul i64 {self.op('mul i64 %n, %n')}, {size}")
        self.declarations["memcpy"] = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
        self.do(f"call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %a, i64 {nbytes}, i1 false)")
        pivots = self.narrow_pivots() if int_bits == 32 else "%ipiv"
        length = self.op(f"mul i64 %ld, {INVERSE_WORK}")
        tail = ("ptr %out", "int %ld", f"ptr {pivots}", "ptr %work", f"int {length}", "ptr %info")
        self.call("getri", "int %n", *tail)

    def signed_diagonal(self, result: str) -> None:
        """Store the diagonal of U, its first element negated for an odd number of interchanges."""
        self.do("br i1 %empty, label %done, label %start", "start:", "%pitch = add i64 %n, 1")
        self.do("br label %each", "each:", "%k = phi i64 [ 0, %start ], [ %k1, %each ]")
        self.do("%odd = phi i1 [ false, %start ], [ %odd1, %each ]", "%k1 = add i64 %k, 1")
        place = self.at("%a", self.op("mul i64 %k, %pitch"))
        self.store(self.load(place), self.at("%out", "%k"))
        row = self.op(f"load i64, ptr {self.op('getelementptr i64, ptr %ipiv, i64 %k')}")
        swapped = self.op(f"icmp ne i64 {row}, %k1")
        self.do(f"%odd1 = xor i1 %odd, {swapped}", "%further = icmp slt i64 %k1, %n")
        self.do("br i1 %further, label %each, label %signed", "signed:")
        self.do("br i1 %odd1, label %negate, label %done", "negate:")
        negated = [self.op(f"fneg {self.scalar} {v}") for v in self.load("%out")]
        self.store(negated, "%out")
        self.do("br label %done", "done:", result)
        self.end()

    def cholesky(self) -> None:
        """Factor a, then clear the triangle that LAPACK leaves alone."""
        self.do("%is_upper = icmp ne i32 %upper, 0")
        letter = self.op(f"select i1 %is_upper, i8 {ord('U')}, i8 {ord('L')}")
        self.call("potrf", f"char {letter}", "int %n", "ptr %a", "int %ld", "ptr %info")
        self.do("br i1 %is_upper, label %clear_lower, label %clear_upper", "clear_lower:")
        # Column-major: the element (j, i) below the diagonal lies at j + i * n.
        self.mirror("%a", ("1", "%n"), "%n", copy=False)
        self.do("br label %cleared", "clear_upper:")
        self.mirror("%a", ("%n", "1"), "%n", copy=False)
        self.do("br label %cleared", "cleared:")


def factor_text(name: str, kind: str, find: Find) -> str | None:
    """The LLVM text of the helper `name`, with external linkage; None without its routine."""
    writer = _FactorWriter(name, find)
    routine = writer.routine(_ROUTINES[kind])
    if routine is None:
        return None
    writer.start(kind)
    if kind == "gesv":
        writer.solve("%b", "%nrhs")
    elif kind == "inv":
        writer.identity("%out")
        writer.solve("%out", "%n")
    elif kind == "getrf":
        writer.factor(routine.int_bits)
    elif kind == "ludiag":
        writer.factor(routine.int_bits)
        writer.signed_diagonal("ret i64 0")
        return writer.text()
    elif kind == "pivoted":
        writer.signed_diagonal("ret void")
        return writer.text()
    elif kind == "getri":
        writer.inverse(routine.int_bits)
    else:
        writer.cholesky()
    writer.finish(routine.int_bits)
    return writer.text()
