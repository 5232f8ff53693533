"""The command line: parse, call one function, print. Data goes to stdout, talk and progress to stderr."""

from foldaway.cli.entry import main

__all__ = ["main"]
