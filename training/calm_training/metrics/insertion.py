"""Insertion."""

from calm_training.metrics.deletion import area_under, curve
from calm_training.metrics.measure import MEASURES, Case, Measure
from calm_training.metrics.remove_and_classify import blur

__all__ = ["INSERTION"]


class Insertion(Measure):
    """Area under p(A|x) while the map's largest pixels come back into the blurred picture."""

    key = "insertion"
    title = "Insertion"
    source = "Petsiuk et al., RISE, 2018"
    meaning = "area under p(A|x) while the largest pixels come back into the blurred picture"
    better = "higher"
    needs = ("network",)
    many_passes = True

    def score(self, case: Case) -> float:
        """Between 0 and 1."""
        assert case.picture is not None
        return area_under(curve(case, blur(case.picture), keep=True))


INSERTION = MEASURES.register(Insertion())
