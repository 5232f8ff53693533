"""Cases from public failure reports, and the runner that judges a system by them.

A case is one JSON file: a history or a walk of steps, and what must hold of the outcome. The files and what each word
in them means are described in `foldaway/data/cases/README.md`. Run any folder of them:

    python -m foldaway.testing.cases DIR [--json] [--only ID]

`driver` holds all contact with foldaway itself; another system can be judged by giving another driver.
"""
