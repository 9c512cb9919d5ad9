"""Object files for x86-64 in ELF become one image: sections placed, relocations resolved.

Only what LLVM makes of position independent code in the small model is understood; anything else is
a `LinkError`. Formats and relocations are those of the System V ABI (gABI, and its AMD64
supplement).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from tracejit.link.image import Image, LinkError

__all__ = ["PAGE", "lay_out"]

PAGE = 4096
#: An object file's identity: ELF, 64 bits, little endian; its type and machine.
_MAGIC, _RELOCATABLE, _X86_64 = b"\x7fELF\x02\x01\x01", 1, 62
_HEADER, _SECTION = struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQIIQQ")
_SYMBOL, _RELOCATION = struct.Struct("<IBBHQQ"), struct.Struct("<QQq")
# Types of sections, and flags.
_PROGBITS, _SYMTAB, _RELA, _NOBITS, _UNWIND = 1, 2, 4, 8, 0x70000001
_WRITE, _ALLOC, _TLS = 1, 2, 0x400
# Numbers of sections that are none.
_UNDEFINED, _ABSOLUTE, _COMMON = 0, 0xFFF1, 0xFFF2
# Bindings of symbols.
_LOCAL, _GLOBAL, _WEAK = 0, 1, 2
_SECTION_SYMBOL, _TLS_SYMBOL, _INDIRECT = 3, 6, 10
# Relocations: absolute; relative to their place, in 32 and 64 bits; to a word of the table.
_R64, _PC32, _PLT32, _PC64 = 1, 2, 4, 24
_TABLE = (9, 41, 42)
#: What 32 bits with a sign reach.
_MOST, _TOO_LARGE = (1 << 31) - 1, "an image of more than 2 GB"
#: `jmp *offset(%rip)`, filled up.
_STUB = struct.Struct("<HiH")
_STUB_SIZE = 8


class _Section(NamedTuple):
    name: int
    type: int
    flags: int
    addr: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int


class _Symbol(NamedTuple):
    """Where a symbol of a file lies in the image; an import by its name."""

    at: int | None
    name: str


class _File:
    """An object file: its sections, the bytes of them, its symbols."""

    def __init__(self, image: bytes) -> None:
        self.image = image
        if len(image) < _HEADER.size or not image.startswith(_MAGIC):
            raise LinkError("not an object file in ELF")
        _, kind, machine, _, _, _, at, _, _, _, _, size, count, _ = _HEADER.unpack_from(image)
        if (kind, machine, size) != (_RELOCATABLE, _X86_64, _SECTION.size):
            raise LinkError("not an object file for x86-64")
        self.sections = [
            _Section(*fields) for fields in _SECTION.iter_unpack(self.part(at, size * count))
        ]
        tables = [s for s in self.sections if s.type == _SYMTAB]
        if len(tables) > 1:
            raise LinkError("an object file with several tables of symbols")
        self.symbols: list[tuple[int, int, int, int, int, int]] = []
        self._names = b""
        if tables:
            self.symbols = list(_SYMBOL.iter_unpack(self.bytes_of(tables[0])))
            self._names = self.bytes_of(self._section(tables[0].link))

    def part(self, at: int, size: int) -> bytes:
        """Some bytes. Raises LinkError where they are not there."""
        if at < 0 or size < 0 or at + size > len(self.image):
            raise LinkError("an object file that ends too early")
        return self.image[at : at + size]

    def _section(self, number: int) -> _Section:
        if not 0 <= number < len(self.sections):
            raise LinkError(f"an object file without a section {number}")
        return self.sections[number]

    def bytes_of(self, section: _Section) -> bytes:
        """What a section holds."""
        return self.part(section.offset, section.size)

    def name(self, at: int) -> str:
        """The name of a symbol."""
        end = self._names.find(b"\0", at)
        if end < 0:
            raise LinkError("a symbol without a name")
        return self._names[at:end].decode()

    def placed(self) -> list[tuple[int, _Section]]:
        """The sections that belong into memory."""
        found = []
        for number, section in enumerate(self.sections):
            if not section.flags & _ALLOC or section.type == _UNWIND:
                continue
            if section.type not in (_PROGBITS, _NOBITS) or section.flags & _TLS:
                raise LinkError(f"a section of type {section.type:#x}")
            if section.align & section.align - 1 or section.align > PAGE:
                raise LinkError(f"a section at multiples of {section.align}")
            if section.type == _NOBITS and not section.flags & _WRITE:
                raise LinkError("zeros that are not written")
            if self._is_unwind(section):
                continue
            found.append((number, section))
        return found

    def _is_unwind(self, section: _Section) -> bool:
        # On other systems than Linux, and from other assemblers, it is an ordinary section.
        return section.flags == _ALLOC and self._section_name(section) == ".eh_frame"

    def _section_name(self, section: _Section) -> str:
        names = self.bytes_of(self._section(_HEADER.unpack_from(self.image)[13]))
        end = names.find(b"\0", section.name)
        return names[section.name : end].decode()


class _Layout:
    """The image under construction."""

    def __init__(self, files: Sequence[_File]) -> None:
        self.files = files
        #: By file and section: where it lies.
        self.at: dict[tuple[int, int], int] = {}
        placed = [(k, n, s) for k, f in enumerate(files) for n, s in f.placed()]
        self.code, self.data = bytearray(), bytearray()
        for k, n, s in placed:
            if not s.flags & _WRITE:
                self.at[k, n] = _put(self.code, files[k].bytes_of(s), s.align)
        #: The imports by name, each with its number; words of the table for what lies here.
        self.imports: dict[str, int] = {}
        self.own_words: dict[int, int] = {}
        self.stubs: dict[str, int] = {}
        written = [x for x in placed if x[2].flags & _WRITE]
        for k, n, s in written:
            if s.type == _PROGBITS:
                self.at[k, n] = _put(self.data, files[k].bytes_of(s), s.align)
        self.zeros_end = len(self.data)
        for k, n, s in written:
            if s.type == _NOBITS:
                start = -(-self.zeros_end // max(s.align, 1)) * max(s.align, 1)
                self.at[k, n], self.zeros_end = start, start + s.size
        self.written = {(k, n) for k, n, _ in written}
        self.globals = self._globals()

    def _globals(self) -> dict[str, tuple[int, int, int]]:
        """By name: the file, section and place in it of what several files may see."""
        found: dict[str, tuple[int, int, int]] = {}
        weak: set[str] = set()
        for k, f in enumerate(self.files):
            for name_at, info, _, section, value, _ in f.symbols:
                binding = info >> 4
                if binding == _LOCAL or section == _UNDEFINED:
                    continue
                if section in (_COMMON, _ABSOLUTE) or info & 15 in (_TLS_SYMBOL, _INDIRECT):
                    raise LinkError(f"the symbol {f.name(name_at)} is of no section")
                name = f.name(name_at)
                if name in found and name not in weak:
                    if binding == _WEAK:
                        continue
                    raise LinkError(f"the symbol {name} is defined twice")
                (weak.add if binding == _WEAK else weak.discard)(name)
                found[name] = k, section, value
        return found

    def import_number(self, name: str) -> int:
        return self.imports.setdefault(name, len(self.imports))


def _put(memory: bytearray, what: bytes, align: int) -> int:
    memory.extend(bytes(-len(memory) % max(align, 1)))
    start = len(memory)
    memory.extend(what)
    return start


def lay_out(objects: Sequence[bytes], exports: Sequence[str]) -> Image:
    """One image of object files that see each other's global symbols.

    Raises LinkError for what is not understood: another format, a section or relocation of another
    kind, a symbol that is defined twice, an export that is not defined.
    """
    try:
        return _Linker(objects).image(exports)
    except struct.error as e:
        raise LinkError(f"an object file of another form: {e}") from e
    except UnicodeDecodeError as e:
        raise LinkError("an object file with a strange name") from e


class _Relocation(NamedTuple):
    file: int
    section: int
    at: int
    type: int
    symbol: int
    addend: int


class _Linker:
    def __init__(self, objects: Sequence[bytes]) -> None:
        self.files = [_File(image) for image in objects]
        self.layout = _Layout(self.files)
        self.relocations = list(self._relocations())
        self._symbols: dict[tuple[int, int], tuple[int, int, int] | str] = {}

    def _relocations(self) -> list[_Relocation]:
        found = []
        for k, f in enumerate(self.files):
            for s in f.sections:
                if s.type != _RELA or (k, s.info) not in self.layout.at:
                    continue
                if f.sections[s.info].type == _NOBITS:
                    raise LinkError("a relocation of zeros")
                for at, info, addend in _RELOCATION.iter_unpack(f.bytes_of(s)):
                    width = 8 if info & 0xFFFFFFFF in (_R64, _PC64) else 4
                    if at + width > f.sections[s.info].size:
                        raise LinkError("a relocation outside its section")
                    found.append(_Relocation(k, s.info, at, info & 0xFFFFFFFF, info >> 32, addend))
        return found

    def _symbol(self, file: int, number: int) -> tuple[int, int, int] | str:
        """The file, section and place of a symbol, or the name of one to import."""
        key = file, number
        if key not in self._symbols:
            self._symbols[key] = self._found(file, number)
        return self._symbols[key]

    def _found(self, file: int, number: int) -> tuple[int, int, int] | str:
        f = self.files[file]
        if not number < len(f.symbols):
            raise LinkError(f"an object file without a symbol {number}")
        name_at, info, _, section, value, _ = f.symbols[number]
        if info & 15 == _TLS_SYMBOL:
            raise LinkError("a symbol of one thread")
        if info >> 4 != _LOCAL or section == _UNDEFINED:
            name = f.name(name_at)
            return self.layout.globals.get(name, name)
        if (file, section) not in self.layout.at:
            raise LinkError("a symbol of a section that is not in memory")
        return file, section, value

    def image(self, exports: Sequence[str]) -> Image:
        layout = self.layout
        for r in self.relocations:
            found = self._symbol(r.file, r.symbol)
            if isinstance(found, str) and r.type == _PLT32:
                layout.stubs.setdefault(found, len(layout.stubs))
            if isinstance(found, str):
                layout.import_number(found)
        code = layout.code
        stubs = _put(code, bytes(_STUB_SIZE * len(layout.stubs)), _STUB_SIZE)
        own = {
            found
            for r in self.relocations
            if r.type in _TABLE and isinstance(found := self._symbol(r.file, r.symbol), tuple)
        }
        table = _put(code, bytes(8 * (len(layout.imports) + len(own))), 8)
        words = {
            found: table + 8 * (len(layout.imports) + k) for k, found in enumerate(sorted(own))
        }
        self.start = -(-len(code) // PAGE) * PAGE
        if self.start + layout.zeros_end > _MOST:
            raise LinkError(_TOO_LARGE)
        for name, k in layout.stubs.items():
            at = stubs + _STUB_SIZE * k
            word = table + 8 * layout.imports[name]
            _STUB.pack_into(code, at, 0x25FF, word - at - 6, 0x9090)
        pointers = [(word, self._at(found)) for found, word in words.items()]
        imported: list[tuple[int, int, int]] = []
        for r in self.relocations:
            self._relocate(r, stubs, table, words, pointers, imported)
        missing = [name for name in exports if name not in layout.globals]
        if missing:
            raise LinkError(f"no symbol {', '.join(missing)}")
        return Image(
            bytes(code),
            bytes(layout.data),
            layout.zeros_end - len(layout.data),
            tuple(layout.imports),
            table,
            tuple(pointers),
            tuple(imported),
            {name: self._at(layout.globals[name]) for name in exports},
        )

    def _at(self, place: tuple[int, int, int]) -> int:
        """Where something lies in the image."""
        file, section, value = place
        if (file, section) not in self.layout.at:
            raise LinkError("a symbol of a section that is not in memory")
        if value > self.files[file].sections[section].size:
            raise LinkError("a symbol outside its section")
        start = self.layout.at[file, section] + value
        return start + self.start if (file, section) in self.layout.written else start

    def _relocate(
        self,
        r: _Relocation,
        stubs: int,
        table: int,
        words: dict[tuple[int, int, int], int],
        pointers: list[tuple[int, int]],
        imported: list[tuple[int, int, int]],
    ) -> None:
        layout, found = self.layout, self._symbol(r.file, r.symbol)
        place = self._at((r.file, r.section, r.at))
        if r.type == _R64:
            if isinstance(found, str):
                imported.append((place, layout.imports[found], r.addend))
            else:
                pointers.append((place, self._at(found) + r.addend))
            return
        if r.type in _TABLE:
            word = table + 8 * layout.imports[found] if isinstance(found, str) else words[found]
            target = word
        elif r.type not in (_PC32, _PLT32, _PC64):
            raise LinkError(f"a relocation of type {r.type}")
        elif not isinstance(found, str):
            target = self._at(found)
        elif r.type != _PLT32:
            raise LinkError(f"{found} is thought to lie near")
        else:
            target = stubs + _STUB_SIZE * layout.stubs[found]
        value = target + r.addend - place
        width = 8 if r.type == _PC64 else 4
        if not -(1 << 8 * width - 1) <= value < 1 << 8 * width - 1:
            raise LinkError(_TOO_LARGE)
        written = (r.file, r.section) in layout.written
        memory, at = (layout.data, place - self.start) if written else (layout.code, place)
        memory[at : at + width] = (value & (1 << 8 * width) - 1).to_bytes(width, "little")
