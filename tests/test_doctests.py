"""Every doctest in the docstrings of the package."""

import doctest
import importlib
import pkgutil

import pytest

import priste

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(priste.__path__, "priste.")
    if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    """The examples in a module's docstrings print what they say."""
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
