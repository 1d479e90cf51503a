"""A measure from outside, in one file: the share of the map that lies in its left half."""

from calm_training.metrics.measure import MEASURES, Case, Measure


class LeftHalf(Measure):
    """Share of the enlarged map left of the middle."""

    key = "left_half"
    title = "Left half"
    source = "made up for a test"
    meaning = "share of the map in the left half"

    def score(self, case: Case) -> float:
        """Between 0 and 1 for maps that aren't negative."""
        return float(case.scores[:, : case.scores.shape[1] // 2].sum() / case.scores.sum())


def register() -> Measure:
    """Add it, as a package of others would."""
    return MEASURES.register(LeftHalf())
