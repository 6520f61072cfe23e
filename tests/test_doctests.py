"""Every doctest in the docstrings of the package and of the paper's experiments."""

import doctest
import importlib
import pkgutil

import paper
import pytest

import priste

MODULES = sorted(
    module.name
    for package in (priste, paper)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    """The examples in a module's docstrings print what they say."""
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
