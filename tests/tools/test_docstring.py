"""What is read from docstrings of each style, and that none is refused."""

import pytest
from hypothesis import example, given, strategies as st

from local_react.tools.docstring import Documentation, read_docstring

GOOGLE = """Look up an order
    by its id.

    More that the model need not know.

    Args:
        order_id (str): the id,
            as printed
        deep: how deep

    Returns:
        The order.
"""

NUMPY = """Look up an order by its id.

Parameters
----------
order_id : str
    the id, as printed
low, high : int
    limits
"""

SPHINX = """Look up an order by its id.

:param str order_id: the id, as printed
:param deep: how deep
:returns: the order
"""


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        (GOOGLE, {"order_id": "the id, as printed", "deep": "how deep"}),
        (NUMPY, {"order_id": "the id, as printed", "low": "limits", "high": "limits"}),
        (SPHINX, {"order_id": "the id, as printed", "deep": "how deep"}),
    ],
    ids=["google", "numpy", "sphinx"],
)
def test_first_paragraph_and_parameters_are_read(text, parameters):
    assert read_docstring(text) == Documentation("Look up an order by its id.", parameters)


@pytest.mark.parametrize("text", [None, "", "  \n "])
def test_no_docstring_says_nothing(text):
    assert read_docstring(text) == Documentation()


def test_plain_text_is_its_first_paragraph_in_one_line():
    assert read_docstring("One\n  two.\n\nThree.").summary == "One two."


def test_docstring_that_begins_with_its_parameters_has_no_summary():
    assert read_docstring("\n    Args:\n        a: the a\n    ") == Documentation("", {"a": "the a"})


@example(": :")
@given(st.text(alphabet=st.sampled_from("ab :\n-()[]Args:Parameters\t@")))
def test_no_docstring_is_refused(text):
    assert "\n" not in read_docstring(text).summary
