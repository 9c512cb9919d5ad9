"""The linker: relocations, symbols, alignment; what is not understood is a LinkError."""

from __future__ import annotations

import ctypes
import random
import struct
from typing import Any

import pytest

from tests.link import objects
from tests.link.objects import (
    ALLOC,
    GLOBAL,
    LOCAL,
    WEAK,
    WRITE,
    Relocation,
    Section,
    Symbol,
    written,
)
from tracejit.codegen.llvm import engine
from tracejit.link.elf import lay_out
from tracejit.link.image import Image, LinkError
from tracejit.link.loader import load, supported

pytestmark = pytest.mark.skipif(not supported(), reason="images are for another machine")

#: `mov eax, [rip + 0]; ret`, `call 0; ret`, `mov rax, [rip + 0]; mov eax, [rax]; ret`.
READ = b"\x8b\x05\0\0\0\0\xc3"
READ_BY_TABLE = b"\x48\x8b\x05\0\0\0\0\x8b\x00\xc3"
CALL = b"\x48\x83\xec\x08\xe8\0\0\0\0\x48\x83\xc4\x08\xc3"
DATA = ALLOC | WRITE


def answer(n: int) -> bytes:
    """`mov eax, n; ret`."""
    return b"\xb8" + struct.pack("<i", n) + b"\xc3"


def run(image: Image, symbol: str, *addresses: int) -> int:
    library = load(image, addresses)
    found = ctypes.CFUNCTYPE(ctypes.c_int)(library.address(symbol))()
    del library
    return found


def reads(kind: int, code: bytes = READ, at: int = 2, **data: Any) -> bytes:
    section = Section(".data", **{"contents": struct.pack("<ii", 5, 7), "flags": DATA, **data})
    text = Section(".text", code, relocations=[Relocation(at, kind, "d", -4)])
    return written([text, section], [Symbol("f", 1), Symbol("d", 2, 4, LOCAL)])


@pytest.mark.parametrize("kind", [objects.PC32, objects.PLT32])
def test_near_data(kind: int) -> None:
    assert run(lay_out([reads(kind)], ["f"]), "f") == 7


@pytest.mark.parametrize("kind", [objects.GOTPCREL, objects.GOTPCRELX, objects.REX_GOTPCRELX])
def test_data_by_the_table(kind: int) -> None:
    image = lay_out([reads(kind, READ_BY_TABLE, 3)], ["f"])
    assert run(image, "f") == 7 and len(image.pointers) == 1


def test_data_of_another_file() -> None:
    text = Section(".text", READ_BY_TABLE, relocations=[Relocation(3, objects.GOTPCREL, "d", -4)])
    uses = written([text], [Symbol("f", 1), Symbol("d", objects.UNDEFINED)])
    has = written([Section(".data", struct.pack("<i", 9), DATA)], [Symbol("d", 1)])
    assert run(lay_out([uses, has], ["f"]), "f") == 9
    word = ctypes.c_int(11)
    image = lay_out([uses], ["f"])
    assert image.imports == ("d",)
    assert run(image, "f", ctypes.addressof(word)) == 11


def test_calls_of_another_file_and_of_an_import() -> None:
    text = Section(".text", CALL, relocations=[Relocation(5, objects.PLT32, "g", -4)])
    uses = written([text], [Symbol("f", 1), Symbol("g", objects.UNDEFINED)])
    has = written([Section(".text", answer(21))], [Symbol("g", 1)])
    assert run(lay_out([uses, has], ["f"]), "f") == 21
    there = load(lay_out([has], ["g"]), ())
    assert run(lay_out([uses], ["f"]), "f", there.address("g")) == 21


@pytest.mark.parametrize("imported", [False, True])
def test_pointers(imported: bool) -> None:
    """A word of data that holds an address, of the image or of an import."""
    word = ctypes.c_int * 2
    outside = word(3, 4)
    at = objects.UNDEFINED if imported else 2
    data = Section(".data", bytes(8), DATA, [Relocation(0, objects.R64, "d", 4)])
    here = Section(".rodata", struct.pack("<ii", 1, 2), ALLOC)
    image = lay_out([written([data, here], [Symbol("p", 1), Symbol("d", at)])], ["p"])
    library = load(image, [ctypes.addressof(outside)] if imported else [])
    found = ctypes.c_uint64.from_address(library.address("p")).value
    assert ctypes.c_int.from_address(found).value == (4 if imported else 2)


def test_a_far_difference() -> None:
    text = Section(".text", bytes(8), relocations=[Relocation(0, objects.PC64, "d")])
    data = Section(".data", b"abcd", DATA)
    image = lay_out([written([text, data], [Symbol("f", 1), Symbol("d", 2)])], ["f", "d"])
    library = load(image, ())
    found = ctypes.c_int64.from_address(library.address("f")).value
    assert library.address("f") + found == library.address("d")


def test_zeros_are_zero_and_may_be_written() -> None:
    image = lay_out([reads(objects.PC32, contents=b"", type=objects.NOBITS, size=100_000)], ["f"])
    assert image.zeros >= 100_000 and run(image, "f") == 0


@pytest.mark.parametrize("align", [1, 2, 64, 4096])
def test_alignment(align: int) -> None:
    sections = [Section(".a", b"x", DATA), Section(".b", b"y", DATA, align=align)]
    sections += [Section(".c", b"", DATA, align=align, type=objects.NOBITS, size=3)]
    image = lay_out([written(sections, [Symbol("b", 2), Symbol("c", 3)])], ["b", "c"])
    library = load(image, ())
    assert library.address("b") % align == library.address("c") % align == 0


@pytest.mark.parametrize("align", [8192, 1 << 40, 3, (1 << 63) + 1])
def test_impossible_alignment(align: int) -> None:
    with pytest.raises(LinkError, match="multiples of"):
        lay_out([reads(objects.PC32, align=align)], ["f"])


def of(n: int, binding: int) -> bytes:
    return written([Section(".text", answer(n))], [Symbol("g", 1, 0, binding)])


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ([of(1, WEAK), of(2, GLOBAL)], 2),
        ([of(1, GLOBAL), of(2, WEAK)], 1),
        ([of(1, WEAK), of(2, WEAK)], 2),
        ([of(1, GLOBAL), of(2, LOCAL)], 1),
        ([of(1, WEAK), of(2, GLOBAL), of(3, WEAK)], 2),
    ],
)
def test_weak_symbols(files: list[bytes], found: int) -> None:
    assert run(lay_out(files, ["g"]), "g") == found


def test_what_is_defined_twice() -> None:
    with pytest.raises(LinkError, match="g is defined twice"):
        lay_out([of(1, GLOBAL), of(2, GLOBAL)], ["g"])


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (reads(objects.ABS32), "relocation of type 10"),
        (reads(255), "relocation of type 255"),
        (reads(objects.PC32, flags=DATA | objects.TLS), "section of type"),
        (reads(objects.PC32, type=14), "section of type 0xe"),
        (reads(objects.PC32, type=objects.NOBITS, flags=ALLOC), "zeros"),
        (reads(objects.PC32, at=6), "outside its section"),
        (written([Section(".t", b"\xc3")], [Symbol("f", objects.COMMON)]), "of no section"),
        (written([Section(".t", b"\xc3")], [Symbol("f", objects.ABSOLUTE)]), "of no section"),
        (written([Section(".t", b"\xc3")], [Symbol("f", 1, type=6)]), "of no section"),
        (written([Section(".t", b"\xc3")], [Symbol("f", 1, type=10)]), "of no section"),
        (written([Section(".t", b"\xc3")], [Symbol("f", 99)]), "not in memory"),
        (written([Section(".t", b"\xc3")], [Symbol("g", 1)]), "no symbol f"),
        (b"", "not an object"),
        (b"\x7fELF", "not an object"),
        (bytes(100), "not an object"),
    ],
)
def test_what_is_not_understood(image: bytes, message: str) -> None:
    with pytest.raises(LinkError, match=message):
        lay_out([image], ["f"])


def test_values_outside_their_section() -> None:
    """An exported symbol, or one that is called, lies in the image."""
    for value in (7, 1 << 20, 1 << 40, (1 << 64) - 1):
        image = written([Section(".text", answer(1))], [Symbol("f", 1, value)])
        with pytest.raises(LinkError):
            lay_out([image], ["f"])


def test_relocations_of_zeros() -> None:
    """What has no bytes has none to be changed."""
    for kind in (objects.R64, objects.PC32, objects.PC64):
        data = Section(".bss", b"", DATA, [Relocation(0, kind, "f")], type=objects.NOBITS, size=64)
        image = written([Section(".text", answer(1)), data], [Symbol("f", 1)])
        with pytest.raises(LinkError):
            lay_out([image], ["f"])


@pytest.mark.parametrize("size", [1 << 31, 1 << 47, (1 << 64) - 4096, (1 << 64) - 1])
def test_images_that_are_too_large(size: int) -> None:
    with pytest.raises(LinkError):
        load(
            lay_out([reads(objects.PC32, contents=b"", type=objects.NOBITS, size=size)], ["f"]), ()
        )


def test_addresses_that_are_lacking() -> None:
    text = Section(".text", CALL, relocations=[Relocation(5, objects.PLT32, "g", -4)])
    image = lay_out([written([text], [Symbol("f", 1), Symbol("g", 0)])], ["f"])
    for addresses in ((), (0,), (1, 2)):
        with pytest.raises(LinkError, match="without an address"):
            load(image, addresses)


_TEXT = """
@table = internal constant [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 64
@word = global i64 0
@many = internal global [1000 x i8] zeroinitializer
declare double @sin(double)
define double @f(double %x, i64 %k) {
  %p = getelementptr [4 x i32], ptr @table, i64 0, i64 %k
  %n = load i32, ptr %p
  store i64 %k, ptr @word
  %q = getelementptr [1000 x i8], ptr @many, i64 0, i64 %k
  store i8 1, ptr %q
  %y = sitofp i32 %n to double
  %s = call double @sin(double %x)
  %z = fadd double %s, %y
  ret double %z
}
"""


def flipped(data: bytes, rng: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    if rng.random() < 0.2:
        del made[rng.randrange(len(made)) :]
    return bytes(made)


def test_damaged_object_files(real: bytes) -> None:
    """What comes of a flipped bit is an image whose parts lie in it, or a LinkError."""
    rng = random.Random(3)
    assert_sound(lay_out([real], ["f"]))
    errors = 0
    for _ in range(1500):
        try:
            image = lay_out([flipped(real, rng)], ["f"])
        except LinkError:
            errors += 1
        else:
            assert_sound(image)
    assert errors > 100


def test_noise(real: bytes) -> None:
    rng = random.Random(4)
    for _ in range(300):
        with pytest.raises(LinkError):
            lay_out([real[:64] + rng.randbytes(rng.randrange(2000))], ["f"])
        with pytest.raises(LinkError):
            lay_out([rng.randbytes(rng.randrange(200))], ["f"])


def assert_sound(image: Image) -> None:
    """What the loader writes, and what is exported, lies in the image."""
    code = -(-len(image.code) // 4096) * 4096
    end = code + len(image.data) + image.zeros
    assert end < 1 << 31 and image.zeros >= 0
    assert 0 <= image.table <= image.table + 8 * len(image.imports) <= len(image.code)
    for place, *_ in (*image.pointers, *image.imported_pointers):
        assert 0 <= place and (place + 8 <= len(image.code) or code <= place <= end - 8)
    for at in image.exports.values():
        assert 0 <= at <= len(image.code) or code <= at <= end
    for _, number, behind in image.imported_pointers:
        assert number < len(image.imports) and -(1 << 63) <= behind < 1 << 63


@pytest.fixture(scope="module")
def real() -> bytes:
    """An object file as LLVM writes it."""
    return objects_of(_TEXT)


def objects_of(text: str) -> bytes:
    found: bytes = engine.object_code(text)
    return found
