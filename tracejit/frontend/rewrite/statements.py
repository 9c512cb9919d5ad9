"""From simple statements to statements over hooks: stores, deletions, assertions, exceptions."""

from __future__ import annotations

import ast
from typing import Any

from tracejit.frontend.rewrite.constructs import OPERATORS, spell
from tracejit.frontend.rewrite.expressions import Expressions

__all__ = ["Statements"]


class Statements(Expressions):
    """Rewrites the simple statements of one function."""

    def assign(self, node: ast.Assign) -> list[Any]:
        value = self.visit(node.value)
        if len(node.targets) == 1:
            return self.store(node.targets[0], value)
        kept = self.temporary()
        out = [self.set_name(kept, value)]
        for target in node.targets:
            out += self.store(target, self.load(kept))
        return out

    def store(self, target: Any, value: Any) -> list[Any]:
        """The statements that assign the expression `value`, evaluated first, to `target`."""
        if isinstance(target, ast.Name):
            return [self.set_name(target.id, value)]
        if isinstance(target, ast.Attribute):
            name = self.constant(self.mangled(target.attr))
            return [
                self.statement(self.hook("store_attribute", value, self.visit(target.value), name))
            ]
        if isinstance(target, ast.Subscript):
            place = self.visit(target.value), self.visit(target.slice)
            return [self.statement(self.hook("store_item", value, *place))]
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise self.refuse(target, spell(target))
        starred = any(isinstance(e, ast.Starred) for e in target.elts)
        wanted = self.constant(None if starred else len(target.elts))
        unpacked = self.hook("unpack", value, wanted)
        if all(isinstance(_unstarred(e), ast.Name) for e in target.elts):
            names = [_unstarred(e).id for e in target.elts]
            return self.unpacked(target.elts, names, unpacked)
        names = [self.temporary() for _ in target.elts]
        out = self.unpacked(target.elts, names, unpacked)
        for element, name in zip(target.elts, names, strict=True):
            out += self.store(_unstarred(element), self.load(name))
        return out

    def unpacked(self, targets: list[Any], names: list[str], value: Any) -> list[Any]:
        """The assignment of a sequence's elements to names; a starred one gets a new list."""
        elements, out = [], []
        for target, name in zip(targets, names, strict=True):
            new = self.at(ast.Name(name, ast.Store()))
            if isinstance(target, ast.Starred):
                new = self.at(ast.Starred(new, ast.Store()))
                out.append(self.statement(self.hook("allocate", self.load(name))))
            elements.append(new)
        return [self.at(ast.Assign([self.at(ast.Tuple(elements, ast.Store()))], value)), *out]

    def annotated(self, node: ast.AnnAssign) -> Any:
        if node.value is not None:
            return self.store(node.target, self.visit(node.value))
        if isinstance(node.target, ast.Name):
            return []
        raise self.refuse(node, "an annotation without a value")

    def augmented(self, node: ast.AugAssign) -> list[Any]:
        op = self.constant("i" + OPERATORS[type(node.op)].rstrip("_"))
        target = node.target
        if isinstance(target, ast.Name):
            value = self.hook("in_place", op, self.load(target.id), self.visit(node.value))
            return [self.set_name(target.id, value)]
        owner, current = self.temporary(), self.temporary()
        out = [self.set_name(owner, self.visit(target.value))]
        if isinstance(target, ast.Attribute):
            place = [self.load(owner), self.constant(self.mangled(target.attr))]
            read, write = "attribute", "store_attribute"
        else:
            key = self.temporary()
            out.append(self.set_name(key, self.visit(target.slice)))
            place = [self.load(owner), self.load(key)]
            read, write = "item", "store_item"
        out.append(self.set_name(current, self.hook(read, *place)))
        new = self.hook("in_place", op, self.load(current), self.visit(node.value))
        out.append(self.set_name(current, new))
        out.append(self.statement(self.hook(write, self.load(current), *place)))
        return out

    def delete(self, node: ast.Delete) -> list[Any]:
        out = []
        for target in node.targets:
            if isinstance(target, ast.Name):
                out.append(self.statement(self.name(ast.Name(target.id, ast.Load()))))
                out.append(self.at(ast.Delete([self.at(ast.Name(target.id, ast.Del()))])))
            elif isinstance(target, ast.Subscript):
                place = self.visit(target.value), self.visit(target.slice)
                out.append(self.statement(self.hook("delete_item", *place)))
            elif isinstance(target, ast.Attribute):
                name = self.constant(self.mangled(target.attr))
                hook = self.hook("delete_attribute", self.visit(target.value), name)
                out.append(self.statement(hook))
            else:
                raise self.refuse(target, "del of a tuple")
        return out

    def assertion(self, node: ast.Assert) -> Any:
        test = self.visit(node.test)
        message = self.constant(None) if node.msg is None else self.delayed(node.msg)
        inexact = [self.constant(False)] if self.definition.has_rewritten_asserts else []
        statement = self.statement(self.hook("assert_", test, message, *inexact))
        # The compiler drops it wherever Python is run without assertions.
        return self.at(ast.If(self.load("__debug__"), [statement], []))

    def raised(self, node: ast.Raise) -> Any:
        if node.exc is None:
            return self.statement(self.hook("reraise"))
        parts = [node.exc] if node.cause is None else [node.exc, node.cause]
        return self.statement(self.hook("raise_", *self.visit_all(parts)))


def _unstarred(target: Any) -> Any:
    return target.value if isinstance(target, ast.Starred) else target
