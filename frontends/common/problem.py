"""What is wrong with a part of a model, raised where it is found and gathered by the importer."""

from __future__ import annotations


class Problem(Exception):
    """A part of a model that cannot be imported: what was found, what was expected, what to do.

    The importer adds the place (node, operator, opset) and goes on with the other nodes.
    """
