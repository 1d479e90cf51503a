"""Opening pictures, closing them, and going from one to the next."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from calm_gui.session.actions.intents import Intents
from calm_gui.session.compute import Compute
from calm_gui.session.picture_files import file_key, pictures_in

__all__ = ["Browsing"]


class Browsing(Intents):
    """The open pictures.

    Attributes
    ----------
    compute : Compute
    """

    compute: Compute

    def open_pictures(self, paths: Iterable[str | Path], current: str | None = None) -> None:
        """Show pictures (and the pictures of folders) instead of the open ones; the first, or `current`, is shown.

        Where something is open it stays until one of the new pictures is known to open.
        """
        try:
            keys = pictures_in(paths)
        except OSError as error:
            self.complain(f"{error.filename} can't be opened: {error.strerror}")
            return
        missing = [key for key in keys if not Path(key).exists()]
        if missing:
            self.complain(f"there is no file {missing[0]}" + (f" (and {len(missing) - 1} more)" if missing[1:] else ""))
        keys = [key for key in keys if key not in missing]
        if not keys:
            if not missing:
                self.complain("there are no pictures in what was opened")
            return
        position = keys.index(file_key(current)) if current else 0
        if not self.state.pictures or keys[position] in self.state.pictures:  # there is nothing to lose
            self._show_pictures(keys, position)
        else:
            self.compute.open_pictures(keys, position, partial(self._show_pictures, keys), self._stay)

    def _show_pictures(self, keys: list[str], position: int, why: str = "") -> None:
        self.compute.forget_failures()
        self.complain(why)
        self.store.update(undoable=False, pictures=tuple(keys), current=position)
        self.compute.run()

    def _stay(self, why: str) -> None:
        """Nothing of what was to be opened opens: what is open stays."""
        self.say("")
        self.complain(why)
        self.changed()
        self.compute.run()

    def show_picture(self, position: int) -> None:
        """Go to an open picture by its position; out of range is ignored."""
        if 0 <= position < len(self.state.pictures):
            self.store.update(undoable=False, current=position)

    def add_picture(self, path: str | Path) -> None:
        """Show a picture beside those that are open."""
        key, pictures = file_key(path), self.state.pictures
        if key not in pictures:
            self.store.update(undoable=False, pictures=(*pictures, key))
        self.show_picture(self.state.pictures.index(key))

    def close_picture(self, key: str) -> None:
        """Close an open picture; the one that stood after it, or before, is shown in its place."""
        pictures = tuple(picture for picture in self.state.pictures if picture != key)
        gone = self.state.pictures.index(key)
        current = self.state.current - (self.state.current > gone)
        self.store.update(undoable=False, pictures=pictures, current=min(current, len(pictures) - 1))

    def step_picture(self, by: int, shown: Callable[[int], bool] = lambda _: True) -> None:
        """Go to the next (1) or previous (-1) picture of those `shown`, by position, passing those known to be bad."""
        position = self.state.current + by
        bad = self.compute.bad_pictures
        while 0 <= position < len(self.state.pictures) and (
            self.state.pictures[position] in bad or not shown(position)
        ):
            position += by
        self.show_picture(position)
