"""Which scale a map gets, and which maps share one."""

from collections.abc import Sequence
from typing import Literal

from calm_gui.core.maps import Map, WinnerMap
from calm_gui.render.scale import Scale, Spacing, fit_scale, shared_scale
from calm_gui.render.units import TIMES_UNIFORM

__all__ = ["map_scale", "quantity", "scales_of"]


def quantity(shown: Map) -> str:
    """What a map's values are; only maps of one quantity may share a scale."""
    return shown.kind.quantity


def map_scale(shown: Map, spacing: Spacing = "linear", relative: bool = False) -> Scale:
    """The scale that fits one map.

    Parameters
    ----------
    shown : Map
    spacing : {"linear", "log"}
    relative : bool
        Write probabilities per cell as multiples of the uniform one.
    """
    if ends := shown.kind.ends_in(shown.unit):
        low, high = ends
        return Scale(low, high if shown.values.max() > low else low, "linear", 1.0, shown.unit)
    if relative and shown.kind.times_uniform:
        return fit_scale(shown.values, shown.signed, spacing, float(shown.values.size), TIMES_UNIFORM)
    return fit_scale(shown.values, shown.signed, spacing, unit=shown.unit)


def scales_of(
    maps: Sequence[Map | WinnerMap | None],
    mode: Literal["shared", "fit"] = "shared",
    spacing: Spacing = "linear",
    relative: bool = False,
) -> list[Scale | None]:
    """Scales of maps that are shown together: one for all maps of one quantity and unit, or one for each.

    Returns
    -------
    list of Scale or None
        None where there is a winner map or no map.
    """
    own = [map_scale(shown, spacing, relative) if isinstance(shown, Map) else None for shown in maps]
    if mode == "fit":
        return own
    groups: dict[tuple[object, ...], list[Scale]] = {}
    keys = [
        (quantity(shown), scale.unit, scale.factor, scale.spacing) if isinstance(shown, Map) and scale else None
        for shown, scale in zip(maps, own, strict=True)
    ]
    for key, scale in zip(keys, own, strict=True):
        if key and scale:
            groups.setdefault(key, []).append(scale)
    return [shared_scale(groups[key]) if key else None for key in keys]
