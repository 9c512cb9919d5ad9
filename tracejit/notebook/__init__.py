"""Notebooks: what they show of functions, reports and graphs, and `%tracejit`, `%%tracejit`."""

from tracejit.notebook.html import html_of
from tracejit.notebook.magics import load

__all__ = ["html_of", "load"]
