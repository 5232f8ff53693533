"""Agent frameworks, one a file: the framework's own hook on one side, a session on the other.

Each needs its extra and imports it when it is imported itself; this package imports none. What they share: `_base`.
"""
