"""What was computed and can be computed again: explanations, and the maps that were read from each.

Maps belong to their explanation and go with it, so that nobody has to clear them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.map_kind import MapKind
from calm_gui.core.maps import AnyMap
from calm_gui.errors import CalmError
from calm_gui.session.picture_files import file_stamp

if TYPE_CHECKING:
    from calm_gui.model.picture import Picture

__all__ = ["ExplanationCache", "Pair"]

Pair = tuple[str, str]
"""Keys of a picture and a checkpoint."""

Maps = dict[object, AnyMap | CalmError]
"""Maps of one explanation by what was asked, or why there is none."""

_MOST_BYTES = 96 * 2**20
_MOST_MAPS = 256
_MOST_PICTURES = 7
"""One for each pane that may show another, and the next."""


@dataclass(eq=False)
class _Entry:
    explanation: AnyExplanation
    maps: Maps = field(default_factory=dict)


class ExplanationCache:
    """Explanations by picture and checkpoint, the least recently used of which go when they are too many."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Pair, _Entry] = OrderedDict()
        self._stamps: dict[str, tuple[int, int]] = {}
        self._pictures: OrderedDict[str, tuple[tuple[int, int], Picture]] = OrderedDict()

    def keep_picture(self, key: str, picture: Picture) -> None:
        """Keep the pixels of a picture that waits for its explanation; the last few are enough."""
        self._pictures[key] = file_stamp(key), picture
        while len(self._pictures) > _MOST_PICTURES:
            self._pictures.popitem(last=False)

    def picture(self, key: str) -> Picture | None:
        """A picture that is kept, as its file is now."""
        found = self._pictures.get(key)
        return found[1] if found and found[0] == file_stamp(key) else None

    def __contains__(self, pair: object) -> bool:
        return pair in self._entries

    def get(self, pair: Pair) -> AnyExplanation | None:
        """The explanation at hand, or None."""
        entry = self._entries.get(pair)
        return entry.explanation if entry else None

    def use(self, pair: Pair) -> None:
        """Count a pair as used just now."""
        self._entries.move_to_end(pair)

    @property
    def explanations(self) -> list[AnyExplanation]:
        """All that are kept."""
        return [entry.explanation for entry in self._entries.values()]

    @property
    def pictures(self) -> set[str]:
        """Keys of the pictures that have an explanation."""
        return {picture for picture, _ in self._entries}

    def keep(self, pair: Pair, explanation: AnyExplanation, wanted: Iterable[Pair]) -> None:
        """Add an explanation; older ones that nobody wants now make room for it."""
        self._entries[pair] = _Entry(explanation)
        self._entries.move_to_end(pair)
        size = sum(_bytes_of(entry.explanation) for entry in self._entries.values())
        needed = {*wanted, pair}
        for old in list(self._entries):
            if size <= _MOST_BYTES:
                break
            if old not in needed:
                size -= _bytes_of(self._entries.pop(old).explanation)

    def forget(self, picture: str | None = None, checkpoint: str | None = None) -> None:
        """Forget the explanations of a picture, of a checkpoint, or all of them."""
        for pair in list(self._entries):
            if picture in (None, pair[0]) and checkpoint in (None, pair[1]):
                del self._entries[pair]

    def forget_changed(self, pictures: Iterable[str]) -> list[str]:
        """Forget the explanations of pictures whose files aren't what they were, and say which these are."""
        changed = []
        for picture in pictures:
            stamp = file_stamp(picture)
            if self._stamps.setdefault(picture, stamp) != stamp:
                self._stamps[picture] = stamp
                self.forget(picture=picture)
                changed.append(picture)
        return changed

    def maps(self, explanation: AnyExplanation) -> Maps:
        """Maps of an explanation, for the caller to fill; of one that is no longer kept, nobody else's."""
        for entry in self._entries.values():
            if entry.explanation is explanation:
                if len(entry.maps) > _MOST_MAPS:
                    entry.maps.clear()
                return entry.maps
        return {}

    def forget_errors(self, kind: MapKind) -> bool:
        """Forget why there are no maps of a kind; whether there was anything to forget."""
        failed = [
            (entry.maps, key)
            for entry in self._entries.values()
            for key, found in entry.maps.items()
            if isinstance(found, CalmError) and isinstance(key, tuple) and key[0] is kind
        ]
        for maps, key in failed:
            del maps[key]
        return bool(failed)


def _bytes_of(explanation: AnyExplanation) -> int:
    picture = explanation.picture.nbytes if explanation.picture is not None else 0
    return 2 * explanation.f.nbytes + picture
