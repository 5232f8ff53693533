"""The lab's other measurements as sections of a report: each says what it measures, how to read it, and its limits."""

from foldaway.lab.experiment.instruments.cells import Place

PLACES = {
    "oracle": Place(20, "oracle"),
    "compactions": Place(30, "compactions"),
    "long": Place(40, "long-session"),
    "noise": Place(50, "annotation-noise"),
    "likelihood": Place(60, "likelihood"),
}
"""Where each stands in the page of a folder; numbers between are free."""
