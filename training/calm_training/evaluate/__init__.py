"""``calm-evaluate``: measures of checkpoints on data sets, one file an evaluation.

An evaluation is one file with an object of `calm_training.evaluate.evaluation.Evaluation`: what it measures, its
conventions, its tables and its plot. Importing this package registers those that are here; other packages add
theirs through the entry point group ``calm_training.evaluations``. Measures of single maps, which the evaluation
``measures`` runs, are one file each in `calm_training.metrics`.
"""

from collections.abc import Sequence

from calm_training.evaluate.evaluation import EVALUATIONS  # isort: skip
from calm_training.evaluate import accuracy  # isort: skip
from calm_training.evaluate import wsol  # isort: skip
from calm_training.evaluate import masks  # isort: skip
from calm_training.evaluate import measures  # isort: skip
from calm_training.evaluate import removal  # isort: skip
from calm_training.evaluate import cues  # isort: skip
from calm_training.evaluate import separation  # isort: skip
from calm_training.evaluate import axioms  # isort: skip

__all__ = ["EVALUATIONS", "accuracy", "axioms", "cues", "main", "masks", "measures", "removal", "separation", "wsol"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``calm-evaluate``; see `calm_training.evaluate.cli.main`."""
    from calm_training.evaluate.cli import main as run

    return run(arguments)
