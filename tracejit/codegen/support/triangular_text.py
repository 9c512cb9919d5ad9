"""The LLVM text of triangular systems with dense right sides in C order, as BLAS solves them.

Read by columns, as Fortran reads it, memory in rows is the transpose: t X = B there is X t = B with
the other triangle, and the same `trans`. One right side is a vector. Systems whose matrix was
factored by row interchanges are two triangular ones and interchanges of the right sides' rows.
"""

from __future__ import annotations

from tracejit.codegen.support.blas_calls import Find, RoutineCaller

__all__ = ["factored_text", "triangular_text"]

# CBLAS's enumerations.
_COLUMN, _NO_TRANS, _UPPER, _NON_UNIT, _RIGHT = 102, 111, 121, 131, 142


def triangular_text(name: str, parameters: str, find: Find) -> str | None:
    """The LLVM text of the helper `name`, with external linkage; None without its routines."""
    writer = RoutineCaller(name, find)
    found = [writer.routine("trsm"), writer.routine("trsv")]
    if None in found:
        return None
    (is_cblas,) = {r.convention == "cblas" for r in found if r is not None}

    def one_of(condition: str, letters: str, first: int) -> str:
        """The second of two flags if the condition holds, else the first."""
        if is_cblas:
            return "enum " + writer.op(f"select i1 {condition}, i32 {first + 1}, i32 {first}")
        no, yes = map(ord, letters)
        return "char " + writer.op(f"select i1 {condition}, i8 {yes}, i8 {no}")

    writer.begin("void", name, parameters)
    writer.do("%some = icmp sgt i64 %n, 0", "%wide = icmp sgt i64 %k, 0")
    writer.do("%any = and i1 %some, %wide", "br i1 %any, label %given, label %done", "given:")
    writer.do("%is_upper = icmp ne i32 %upper, 0", "%is_unit = icmp ne i32 %unit, 0")
    writer.do("%is_turned = icmp eq i32 %trans, 1", "%is_adjoint = icmp eq i32 %trans, 2")
    half = one_of("%is_upper", "UL", _UPPER)
    diagonal = one_of("%is_unit", "NU", _NON_UNIT)
    # No transpose of a vector's system is the conjugate alone.
    writer.do("%narrow = icmp eq i64 %k, 1", "%straight = xor i1 %is_adjoint, true")
    writer.do("%one = and i1 %narrow, %straight", "br i1 %one, label %vector, label %matrix")
    writer.do("vector:", "%is_plain = xor i1 %is_turned, true")
    order = [f"enum {_COLUMN}"] if is_cblas else []
    turned = one_of("%is_plain", "NT", _NO_TRANS)
    tail = ("int %n", "ptr %a", "int %lda", "ptr %x")
    writer.call("trsv", *order, half, turned, diagonal, *tail, "int 1")
    writer.do("ret void", "matrix:")
    turned = one_of("%is_turned", "NT", _NO_TRANS)
    kind, value = turned.split()
    last = f"i32 {_NO_TRANS + 2}" if is_cblas else f"i8 {ord('C')}"
    value = writer.op(f"select i1 %is_adjoint, {last}, {last.split()[0]} {value}")
    side = f"enum {_RIGHT}" if is_cblas else f"char {ord('R')}"
    sizes = ("int %k", "int %n", "constant 1.0", "ptr %a", "int %lda", "ptr %x", "int %k")
    writer.call("trsm", *order, side, half, f"{kind} {value}", diagonal, *sizes)
    writer.do("br label %done", "done:", "ret void")
    writer.end()
    return writer.text()


def factored_text(name: str, parameters: str, trsm: str, find: Find) -> str | None:
    """The LLVM text of the helper `name`; `trsm` has the types of the parameters of that helper."""
    writer = RoutineCaller(name, find)
    if writer.routine("swap") is None:
        return None
    do, op = writer.do, writer.op
    writer.declarations["trsm"] = f'declare void @"{name}.trsm"({trsm})'
    writer.begin("i64", name, parameters)
    do("%some = icmp sgt i64 %n, 0", "br i1 %some, label %check, label %done")
    do("check:", "%i = phi i64 [ 0, %entry ], [ %i1, %check_next ]", "%pitch = add i64 %n, 1")
    pivot = writer.load(writer.at("%p", op("mul i64 %i, %pitch")))
    zeros = [op(f"fcmp oeq {writer.scalar} {part}, 0.0") for part in pivot]
    is_zero = zeros[0] if len(zeros) == 1 else op(f"and i1 {zeros[0]}, {zeros[1]}")
    do(f"br i1 {is_zero}, label %singular, label %check_next", "singular:", "ret i64 1")
    do("check_next:", "%i1 = add i64 %i, 1", "%i_more = icmp slt i64 %i1, %n")
    do("br i1 %i_more, label %check, label %checked", "checked:")
    do("%wide = icmp sgt i64 %k, 0", "br i1 %wide, label %sized, label %done", "sized:")
    do("%is_turned = icmp ne i32 %trans, 0", "br i1 %is_turned, label %turned, label %straight")

    def substitute(*flags: int) -> None:
        typed = ", ".join(f"i32 {flag}" for flag in flags)
        do(f'call void @"{name}.trsm"(ptr %x, ptr %p, i64 %n, i64 %k, i64 %n, {typed})')

    def interchange(tag: str, first: str, step: int) -> None:
        r = f"%{tag}_r"
        do(f"br label %{tag}", f"{tag}:")
        start = "straight" if step == 1 else "turned"
        do(f"{r} = phi i64 [ {first}, %{start} ], [ {r}n, %{tag}_next ]")
        row = op(f"load i64, ptr {op(f'getelementptr i64, ptr %ipiv, i64 {r}')}")
        other = op(f"sub i64 {row}, 1")
        moved = op(f"icmp ne i64 {other}, {r}")
        do(f"br i1 {moved}, label %{tag}_swap, label %{tag}_next", f"{tag}_swap:")
        one, two = (writer.at("%x", op(f"mul i64 {place}, %k")) for place in (r, other))
        writer.call("swap", "int %k", f"ptr {one}", "int 1", f"ptr {two}", "int 1")
        do(f"br label %{tag}_next", f"{tag}_next:", f"{r}n = add i64 {r}, {step}")
        more = op(f"icmp slt i64 {r}n, %n" if step == 1 else f"icmp sge i64 {r}n, 0")
        do(f"br i1 {more}, label %{tag}, label %{tag}_end", f"{tag}_end:")

    # P has U.T below and L.T, whose diagonal is ones, above.
    do("straight:")
    interchange("forth", "0", 1)
    substitute(1, 1, 1)
    substitute(0, 1, 0)
    do("ret i64 0", "turned:", "%last = sub i64 %n, 1")
    substitute(0, 0, 0)
    substitute(1, 0, 1)
    interchange("back", "%last", -1)
    do("br label %done", "done:", "ret i64 0")
    writer.end()
    return writer.text()
