"""Places in the user's source become debug metadata of LLVM text, and are found in it again.

Only code that is to be looked at has it: what runs is compiled without.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tracejit.errors import Where
from tracejit.ir.text.print import TextLine

__all__ = [
    "DebugInfo",
    "assembly_places",
    "instruction_places",
    "without_debug_info",
]

#: The first metadata number: those below are weights of branches.
_FIRST = 10
_UNIT, _FILE = _FIRST, _FIRST + 1
_LOCATION = re.compile(r", !dbg !(\d+)")
_PLACE = re.compile(r"^!(\d+) = !DILocation\(line: (\d+), scope: !(\d+)\)$", re.MULTILINE)
_SCOPE = re.compile(r"^!(\d+) = .*\bfile: !(\d+)[,)]", re.MULTILINE)
_NAME = re.compile(r'^!(\d+) = !DIFile\(filename: "(.*)", directory: ""\)$', re.MULTILINE)


class DebugInfo:
    """The metadata of one module: files, functions, and lines in them."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._known: dict[object, int] = {}

    def _number(self, key: object, definition: str) -> int:
        if key not in self._known:
            self._known[key] = _FILE + 1 + len(self._lines)
            self._lines.append(f"!{self._known[key]} = {definition}")
        return self._known[key]

    def _file(self, name: str) -> int:
        quoted = "".join(c if 32 <= ord(c) < 127 and c not in '"\\' else _escape(c) for c in name)
        return self._number(("file", name), f'!DIFile(filename: "{quoted}", directory: "")')

    def _function(self, name: str) -> int:
        kind = self._number("type", "!DISubroutineType(types: !{})")
        return self._number(
            ("function", name),
            f'distinct !DISubprogram(name: "{name}", scope: !{_FILE}, file: !{_FILE}, line: 0, '
            f"type: !{kind}, spFlags: DISPFlagDefinition, unit: !{_UNIT})",
        )

    def _location(self, function: str, where: Where | None) -> int:
        owner = self._function(function)
        if where is None:
            return self._number((owner, None), f"!DILocation(line: 0, scope: !{owner})")
        file = self._file(where.file)
        scope = self._number(
            (owner, file), f"!DILexicalBlockFile(scope: !{owner}, file: !{file}, discriminator: 0)"
        )
        return self._number(
            (scope, where.line), f"!DILocation(line: {where.line}, scope: !{scope})"
        )

    def described(self, function: str, head: str, lines: Sequence[str]) -> Iterator[str]:
        """The lines of a function, each instruction with its place."""
        yield head.removesuffix("{") + f"!dbg !{self._function(function)} {{"
        for line in lines:
            if line.startswith("  ") and not line.lstrip().startswith(";"):
                where = line.where if isinstance(line, TextLine) else None
                yield f"{line}, !dbg !{self._location(function, where)}"
            else:
                yield line

    def text(self) -> list[str]:
        """The definitions, for the end of a module."""
        numbers = _FILE + 1 + len(self._lines)
        return [
            f"!llvm.dbg.cu = !{{!{_UNIT}}}",
            f"!llvm.module.flags = !{{!{numbers}}}",
            f"!{_UNIT} = distinct !DICompileUnit(language: DW_LANG_Python, file: !{_FILE}, "
            "isOptimized: true, emissionKind: LineTablesOnly)",
            f'!{_FILE} = !DIFile(filename: "program", directory: "")',
            *self._lines,
            f'!{numbers} = !{{i32 2, !"Debug Info Version", i32 3}}',
        ]


def _escape(c: str) -> str:
    return "".join(f"\\{byte:02X}" for byte in c.encode())


def _plain(name: str) -> str:
    def one(found: re.Match[bytes]) -> bytes:
        return b"\\" if found[1] == b"\\" else bytes([int(found[1], 16)])

    data = re.sub(rb"\\(\\|[0-9A-F]{2})", one, name.encode())
    return data.decode(errors="replace")


def instruction_places(text: str) -> list[tuple[str, tuple[str, int] | None]]:
    """The lines of LLVM text without its debug metadata, each with its (file, line)."""
    found: list[tuple[str, tuple[str, int] | None]] = []
    files = {number: _plain(name) for number, name in _NAME.findall(text)}
    scopes = {number: files.get(file) for number, file in _SCOPE.findall(text)}
    places = {
        number: (scopes[scope], int(line))
        for number, line, scope in _PLACE.findall(text)
        if line != "0" and scopes.get(scope) is not None
    }
    for line in text.splitlines():
        number = _LOCATION.search(line)
        plain = _without(line)
        if plain is not None:
            place = places.get(number[1]) if number else None
            found.append((plain, place))  # type: ignore[arg-type]
    return found


def without_debug_info(text: str) -> str:
    """LLVM text as it is without debug metadata."""
    return "".join(f"{line}\n" for line, _ in instruction_places(text))


def _without(line: str) -> str | None:
    """A line without what is said for debuggers; None for one that says nothing else."""
    if re.match(r"!(llvm\.|\d+ = (distinct )?(!DI|!\{i32 2, !\"Debug))", line):
        return None
    return re.sub(r" !dbg !\d+ \{", " {", _LOCATION.sub("", line))


#: What is said to debuggers, unwinders and linkers.
_DIRECTIVE = re.compile(r"\s*\.(cfi_|file\b|ident\b|addrsig|loc\b)|\.L(tmp|func_begin)\d+:")


def assembly_places(text: str) -> list[tuple[str, tuple[str, int] | None]]:
    """The lines of assembly without directives for debuggers, each with its (file, line)."""
    files: dict[str, str] = {}
    found: list[tuple[str, tuple[str, int] | None]] = []
    place, is_debug = None, False
    for line in text.splitlines():
        words = line.split()
        if words[:1] == [".section"]:
            is_debug = words[1].startswith(".debug")
        if words[:1] == [".file"] and len(words) > 2:
            names = re.findall(r'"((?:[^"\\]|\\.)*)"', line)
            files[words[1]] = "/".join(_unescaped(n) for n in names if n)
        elif words[:1] == [".loc"]:
            place = (files[words[1]], int(words[2])) if words[2] != "0" else None
        elif not is_debug and not _DIRECTIVE.match(line):
            if line.startswith(("\t.globl", "\t.type")) or line.endswith(":") and line[0] != ".":
                place = None
            is_code = line.startswith("\t") and not line.lstrip().startswith((".", "#"))
            found.append((line, place if is_code else None))
    return found


def _unescaped(name: str) -> str:
    data = re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]), name.encode())
    return re.sub(rb"\\(.)", rb"\1", data).decode(errors="replace")
