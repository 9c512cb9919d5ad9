"""The tables of what lies in which module are current."""

import pytest

from tests.project.registries import FILES, ROOT


@pytest.mark.parametrize("name", FILES)
def test_a_table_is_current(name: str) -> None:
    # `python -m tests.project.registries --write` writes them.
    assert (ROOT / name).read_text() == FILES[name]()
