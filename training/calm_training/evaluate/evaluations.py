"""The evaluations that are here, in the order of the help. Importing this registers them."""

from calm_training.evaluate.evaluation import EVALUATIONS  # isort: skip
from calm_training.evaluate import accuracy  # isort: skip
from calm_training.evaluate import wsol  # isort: skip
from calm_training.evaluate import masks  # isort: skip
from calm_training.evaluate import measures  # isort: skip
from calm_training.evaluate import removal  # isort: skip
from calm_training.evaluate import cues  # isort: skip
from calm_training.evaluate import separation  # isort: skip
from calm_training.evaluate import axioms  # isort: skip

__all__ = ["EVALUATIONS", "accuracy", "axioms", "cues", "masks", "measures", "removal", "separation", "wsol"]
