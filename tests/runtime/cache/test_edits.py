"""What is changed between two processes is seen by the second one; what is not changed is warm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.runtime.cache.edit import HEAD, Edit
from tests.runtime.cache.edits import EDITS
from tests.runtime.cache.processes import observe
from tests.support import sampling

#: Programs that no process after the first can load: functions, or values, of no description; one
#: that prints and one that raises, which modules of the compiler do.
COLD = frozenset(
    "global_set global_frozenset global_range global_slice helper_attribute partial_helper"
    " inner_gradient lru_cache class_frozenset class_range cached_property partialmethod"
    " dataclass_field dataclass_made dataclass_more int_enum metaclass helpers_lines_moved"
    " annotations_used message lines_moved method_decorated property_of_a_closure descriptor"
    " class_partial class_bool class_of_list class_getattr_own class_default_factory"
    " class_post_init getter functions_in_a_dict bytes_value nan frozen flag"
    " module_getattr abstract_methods class_dict class_doc_of_base class_set class_subclasses"
    " dataclass_frozen enum_count enum_members field_count field_default field_metadata field_repr"
    " property_doc property_doc_given".split()
)
#: Edits that no result shows.
SAME = frozenset(
    "global_kind slots_order option_strict option_bounds jitted_helper_plain jitted_helper_option"
    " global_array_dtype generator_state equal_tuple".split()
)


def texts(name: str, edit: Edit, edited: bool) -> dict[str, str]:
    """The files of a program, before or after its edit."""
    source, other = edit.source, edit.other
    if edited:
        assert edit.old in source + other
        if edit.old in source:
            source = source.replace(edit.old, edit.new, 1)
        else:
            other = other.replace(edit.old, edit.new, 1)
    found = {name: HEAD + source.replace("{name}", name)}
    return found | ({f"{name}_other": other} if other else {})


def write(folder: Path, names: list[str], edited: bool = False) -> None:
    for name in names:
        for module, text in texts(name, EDITS[name], edited).items():
            (folder / f"{module}.py").write_text(text, encoding="utf-8")


def right(found: dict[str, Any], name: str) -> dict[str, Any]:
    """What is observed of a program, which is what Python gives."""
    seen: dict[str, Any] = found["modules"][name]
    assert "error" not in seen, (name, seen["error"])
    assert seen["got"] == seen["plain"], (name, seen)
    return seen


def test_edits(tmp_path: Path) -> None:
    names = sampling.sampled(sorted(EDITS), 6)
    write(tmp_path, names)
    first = observe(tmp_path, *names)
    # Those that are warm come alone: no process that compiles hides what they import.
    warm = [name for name in names if name not in COLD]
    second = observe(tmp_path, *warm)
    write(tmp_path, names, edited=True)
    third = observe(tmp_path, *names)
    for name in names:
        right(first, name)
        right(third, name)
    for name in warm:
        seen = right(second, name)
        assert seen["warm"], (name, seen)
        told = "; ".join(third["modules"][name]["refused"])
        assert EDITS[name].reason in told, (name, told)
        assert (third["modules"][name]["plain"] != seen["plain"]) is (name not in SAME), name
    assert second["compiler"] == []


@pytest.mark.parametrize("name", sampling.sampled(["body", "global_array", "class_method"], 3))
def test_a_moved_file(tmp_path: Path, name: str) -> None:
    """A checkout may lie anywhere; tracebacks and reports name the files of this process."""
    write(tmp_path, [name])
    right(observe(tmp_path, name), name)
    moved = tmp_path / "moved"
    moved.mkdir()
    (tmp_path / f"{name}.py").rename(moved / f"{name}.py")
    cache = str(tmp_path / "cache")
    assert right(observe(moved, name, TRACEJIT_CACHE=cache), name)["warm"]
