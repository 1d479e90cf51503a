"""The measures of maps that are here, in the order of tables. Importing this registers them."""

from calm_training.metrics.measure import MEASURES  # isort: skip
from calm_training.metrics import pointing_game  # isort: skip
from calm_training.metrics import energy_pointing_game  # isort: skip
from calm_training.metrics import top_k_intersection  # isort: skip
from calm_training.metrics import entropy  # isort: skip
from calm_training.metrics import effective_area  # isort: skip
from calm_training.metrics import calibrated_mass  # isort: skip
from calm_training.metrics import region_probability  # isort: skip
from calm_training.metrics import additivity  # isort: skip
from calm_training.metrics import deletion  # isort: skip
from calm_training.metrics import insertion  # isort: skip
from calm_training.metrics import road  # isort: skip
from calm_training.metrics import infidelity  # isort: skip
from calm_training.metrics import max_sensitivity  # isort: skip
from calm_training.metrics import parameter_randomisation  # isort: skip

__all__ = [
    "MEASURES",
    "additivity",
    "calibrated_mass",
    "deletion",
    "effective_area",
    "energy_pointing_game",
    "entropy",
    "infidelity",
    "insertion",
    "max_sensitivity",
    "parameter_randomisation",
    "pointing_game",
    "region_probability",
    "road",
    "top_k_intersection",
]
