"""Which docks are open, where and how large: what a person chose, and what there is room for."""

from collections.abc import Iterable

from PySide6.QtCore import QByteArray, QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QMainWindow

from calm_gui.qt.docks import AREAS, DOCKS, Area
from calm_gui.qt.docks.dock_frame import DockFrame
from calm_gui.qt.hub import Hub
from calm_gui.qt.settings import Settings
from calm_gui.qt.widgets.measure import scaled, text_factor

__all__ = ["DockPlaces"]

_VERSION = 2
"""Of the arrangement that Qt saves; another one is ignored."""

_ONE_SIDE_BELOW = 1200
_FOLD_FILM_BELOW = 780
"""Width below which one side dock is open at a time, height below which the film folds; the frame is included."""

_TITLE_BAR = 25
_WIDEST, _HIGHEST = 0.3, 0.42
"""Shares of the window that a dock takes at most, unless a person made it larger."""

_QT_AREAS: dict[Area, Qt.DockWidgetArea] = {
    "left": Qt.DockWidgetArea.LeftDockWidgetArea,
    "right": Qt.DockWidgetArea.RightDockWidgetArea,
    "bottom": Qt.DockWidgetArea.BottomDockWidgetArea,
}


class DockPlaces(QObject):
    """Opens and folds docks, and gives them their sizes back after each change of the window's.

    What a person opened, folded or sized is remembered; what a narrow window or the view of the pictures alone hides
    is not.

    Attributes
    ----------
    frames : dict of key to DockFrame
    wanted : list of str
        Keys of the docks that a person wants open, those opened last at the end.

    Signals
    -------
    changed
        Other docks are open.
    opened_unseen
        A dock was opened while the pictures are alone.
    """

    changed = Signal()
    opened_unseen = Signal()

    def __init__(self, window: QMainWindow, hub: Hub, settings: Settings) -> None:
        super().__init__(window)
        self._window, self._settings = window, settings
        self.frames: dict[str, DockFrame] = {}
        self.wanted = [dock.key for dock in DOCKS.values() if dock.opened]
        self._sizes: dict[str, int] = {}
        self._given: dict[str, int] = {}
        self._folded: dict[Area, list[str]] = {}
        self._alone = False
        self._insisted: set[str] = set()
        self._shared: tuple[str, ...] = ()
        window.setDockNestingEnabled(True)
        window.setCorner(Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.LeftDockWidgetArea)
        window.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        window.setDockOptions(
            QMainWindow.DockOption.AnimatedDocks
            | QMainWindow.DockOption.AllowNestedDocks
            | QMainWindow.DockOption.AllowTabbedDocks
        )
        for dock in DOCKS.values():
            frame = self.frames[dock.key] = DockFrame(dock, hub, settings)
            window.addDockWidget(_QT_AREAS[dock.area], frame)
            frame.setVisible(False)
            frame.fold_wanted.connect(self.fold)
            frame.topLevelChanged.connect(lambda _: self._soon())
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._give_sizes)
        window.installEventFilter(self)

    # What is open

    def area_of(self, key: str) -> Area:
        """Where a dock stands now; a floating one where it came from."""
        place = self._window.dockWidgetArea(self.frames[key])
        return next((name for name, area in _QT_AREAS.items() if area == place), DOCKS[key].area)

    def is_open(self, key: str) -> bool:
        """Whether a dock is shown, in front or behind a tab."""
        return not self.frames[key].isHidden()

    def shown_now(self) -> list[str]:
        """Keys of the docks that are wanted and that the window has room for."""
        if self._alone:
            return []
        floating = [key for key in self.wanted if self.frames[key].isFloating()]
        docked = [key for key in self.wanted if key not in floating]
        if self._is_low:
            docked = [key for key in docked if key != "pictures" or key in self._insisted]
        if self._window.width() < scaled(self._window, _ONE_SIDE_BELOW):
            sides = [key for key in docked if self.area_of(key) != "bottom"]
            together = set(sides[-1:])
            docked = [key for key in docked if self.area_of(key) == "bottom" or key in together]
        return floating + docked

    @property
    def _is_low(self) -> bool:
        """Whether the window is so low that the film folds unless a person opens it."""
        height = self._window.height() + (0 if self._window.isFullScreen() else _TITLE_BAR)
        return height < scaled(self._window, _FOLD_FILM_BELOW)

    def toggle(self, key: str, keep: bool = False) -> None:
        """Open a dock and fold the others of its area, unless `keep`; fold it if it's in front of all."""
        frame = self.frames[key]
        if self.is_open(key) and frame.isVisible() and not frame.visibleRegion().isEmpty():
            self.fold(key)
        elif self.is_open(key):
            frame.raise_()
            self.changed.emit()
        else:
            self.open(key, keep)

    def open(self, key: str, keep: bool = False) -> None:
        """Open a dock and fold the others of its area, unless `keep` or they float."""
        area = self.area_of(key)
        others = [k for k in self.wanted if self.area_of(k) == area and not self.frames[k].isFloating()]
        tabbed = set(self._window.tabifiedDockWidgets(self.frames[key]))
        self.wanted = [k for k in self.wanted if k != key and (keep or k not in others or self.frames[k] in tabbed)] + [
            key
        ]
        self._insisted.add(key)
        if self._alone:
            self.opened_unseen.emit()
        self.apply()
        self.frames[key].raise_()

    def show(self, key: str, on: bool) -> None:
        """Open a dock beside the others, or fold it; nothing happens where that is so already."""
        if on != self.is_open(key):
            (self.open if on else self.fold)(key)

    def fold(self, key: str) -> None:
        """Fold a dock."""
        self.wanted = [k for k in self.wanted if k != key]
        self._insisted.discard(key)
        self.apply()

    def fold_area(self, area: Area) -> None:
        """Fold all docks of an area, or open those that were folded together."""
        shown = [key for key in self.shown_now() if self.area_of(key) == area and not self.frames[key].isFloating()]
        if shown:
            self._folded[area] = shown
            self.wanted = [key for key in self.wanted if key not in shown]
        else:
            first = [dock.key for dock in DOCKS.values() if self.area_of(dock.key) == area][:1]
            back = self._folded.get(area) or first
            self.wanted = [key for key in self.wanted if key not in back] + back
            self._insisted.update(back)
            if self._alone:
                self.opened_unseen.emit()
        self.apply()

    def pictures_alone(self, on: bool) -> None:
        """Hide all docks, or show again those that were open."""
        self._alone = on
        self.apply()

    def apply(self) -> None:
        """Show the docks that are wanted and have room, and no others."""
        if not self._is_low:
            self._insisted.clear()
        shown = self.shown_now()
        for key, frame in self.frames.items():
            if frame.isHidden() != (key not in shown):
                frame.setVisible(key in shown)
        self._soon()
        self.changed.emit()

    # How large

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """After each change of the window's size docks get theirs back; after a drag they keep what it gave them."""
        if watched is self._window:
            if event.type() == QEvent.Type.Resize:
                self.apply()
            elif event.type() == QEvent.Type.MouseButtonRelease:
                QTimer.singleShot(0, self._keep_sizes)
            elif event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
                for frame in self.frames.values():
                    frame.fit_text()
                self._soon()
        return False

    def _soon(self) -> None:
        self._timer.start()

    def _length(self, frame: DockFrame) -> int:
        return frame.height() if frame.sits_at_the_bottom else frame.width()

    def _give_sizes(self) -> None:
        """Give each open dock its size: Qt settles a visibility only when control returns to it."""
        docked = [f for f in self.frames.values() if not f.isHidden() and not f.isFloating()]
        keys = tuple(f.dock.key for f in docked)
        share, self._shared = keys != self._shared, keys
        for below, orientation in ((False, Qt.Orientation.Horizontal), (True, Qt.Orientation.Vertical)):
            # Docks that have just come together share their area's length; one call, or the second undoes the first.
            frames = [f for f in docked if f.sits_at_the_bottom == below or share]
            sizes = [self._size_of(f) if f.sits_at_the_bottom == below else 500 for f in frames]
            if frames:
                self._window.resizeDocks(frames, sizes, orientation)
        self._given = {f.dock.key: self._length(f) for f in docked}

    def _size_of(self, frame: DockFrame) -> int:
        key, below = frame.dock.key, frame.sits_at_the_bottom
        room = self._window.height() * _HIGHEST if below else self._window.width() * _WIDEST
        if key in self._sizes:
            return scaled(self._window, self._sizes[key])
        size = frame.dock.size if below == (frame.dock.area == "bottom") else 272 if not below else 150
        return min(scaled(self._window, size), int(room))

    def _keep_sizes(self) -> None:
        """Remember the sizes that a drag of an edge has changed."""
        for key, given in self._given.items():
            frame = self.frames[key]
            if not frame.isHidden() and not frame.isFloating() and abs(self._length(frame) - given) > 1:
                self._sizes[key] = round(self._length(frame) / text_factor(self._window))
                self._given[key] = self._length(frame)

    # The next time

    def save(self) -> None:
        """Keep in the settings what a person chose."""
        arrangement = self._window.saveState(_VERSION).toBase64().toStdString()
        self._settings.set("docks", {"open": self.wanted, "sizes": self._sizes, "arrangement": arrangement})

    def restore(self) -> None:
        """Take what was kept; what makes no sense is passed over."""
        kept = self._settings.values.get("docks")
        if isinstance(kept, dict):
            arrangement = kept.get("arrangement")
            if isinstance(arrangement, str):
                state = QByteArray.fromBase64(arrangement.encode("ascii", "ignore"))
                self._window.restoreState(state, _VERSION)
            if isinstance(opened := kept.get("open"), list):
                self.wanted = list(dict.fromkeys(key for key in opened if key in self.frames))
            if isinstance(sizes := kept.get("sizes"), dict):
                self._sizes = {k: int(v) for k, v in sizes.items() if k in self.frames and isinstance(v, int) and v > 0}
        self.apply()

    def forget(self) -> None:
        """Back to the places and sizes of the first start."""
        self._sizes.clear()
        self.wanted = [dock.key for dock in DOCKS.values() if dock.opened]
        for key, frame in self.frames.items():
            frame.setFloating(False)
            self._window.addDockWidget(_QT_AREAS[DOCKS[key].area], frame)
        self.apply()

    def keys_in(self, areas: Iterable[Area] = AREAS) -> list[str]:
        """Keys of the docks whose buttons stand in some areas, in order."""
        return [dock.key for dock in DOCKS.values() if dock.area in areas]
