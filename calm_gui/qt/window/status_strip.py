"""The bottom line: buttons of the bottom docks, what is being done, what is under the cursor, the checkpoint."""

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QWidget

from calm_gui.qt.hub import Hub, Progress
from calm_gui.qt.widgets.line_label import LineLabel
from calm_gui.qt.widgets.measure import scaled
from calm_gui.qt.widgets.steady_label import SteadyLabel
from calm_gui.qt.window.dock_places import DockPlaces
from calm_gui.qt.window.side_stripe import DockButton

__all__ = ["StatusStrip"]

_SECONDS = 4


class StatusStrip(QWidget):
    """Messages have a place of their own, so that they hide no button.

    Attributes
    ----------
    buttons : list of DockButton
    doing, count, cancel : QLabel, QLabel, QPushButton
        What takes long, how far it is, and its end.
    words : LineLabel
        What is under the cursor, what is being done, or a message for a few seconds.
    """

    def __init__(self, hub: Hub, places: DockPlaces, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.buttons = [DockButton(places, key) for key in places.keys_in(("bottom",))]
        self.words = LineLabel()
        self.zoom = SteadyLabel("1000 %")
        self.zoom.setObjectName("muted")
        self.zoom.setToolTip("Pixels of the screen per pixel of the picture. Ctrl+0 fits it, Ctrl+1 shows 100 %")
        self.device = QLabel()
        self.device.setObjectName("muted")
        self.doing = QLabel()
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedSize(scaled(self, 120), 6)
        self.count = QLabel()
        self.cancel = QPushButton("Cancel")
        self.cancel.setObjectName("flat")
        self.cancel.clicked.connect(self._on_cancel)
        self._progress: Progress | None = None
        self._message = ""
        self._under = ""
        row = QHBoxLayout(self)
        row.setContentsMargins(6, 0, 10, 0)
        row.setSpacing(4)
        for button in self.buttons:
            row.addWidget(button)
        row.addSpacing(8)
        row.addWidget(self.words, 1)
        for widget in (self.doing, self._bar, self.count, self.cancel, self.zoom, self.device):
            row.addSpacing(4)
            row.addWidget(widget)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._forget)
        hub.progressed.connect(self.show_progress)
        self.show_progress(None)
        self.fit_text()

    def fit_text(self) -> None:
        """Take the height that the letters ask for."""
        self.setFixedHeight(max(scaled(self, 24), self.fontMetrics().height() + 6))

    def say(self, message: str) -> None:
        """Show a message for a few seconds."""
        self._message = message
        self._timer.start(1000 * _SECONDS)
        self._show()

    def show_words(self, words: str) -> None:
        """Show what is under the cursor, or what is being done."""
        self._under = words
        self._show()

    def _forget(self) -> None:
        self._message = ""
        self._show()

    def _show(self) -> None:
        words = self._message or self._under
        if words != self.words.text():
            self.words.setText(words)

    def show_progress(self, progress: Progress | None) -> None:
        """Show how far something is, with a button that ends it; None when it's over."""
        self._progress = progress
        for widget in (self.doing, self._bar, self.count):
            widget.setVisible(progress is not None)
        self.cancel.setVisible(progress is not None and progress.cancel is not None)
        if progress is not None:
            self.doing.setText(progress.words)
            self._bar.setRange(0, progress.total)
            self._bar.setValue(progress.done)
            self.count.setText(_count(progress))
            self._bar.setAccessibleName(f"{progress.words} {_count(progress)}")

    def _on_cancel(self) -> None:
        if self._progress is not None and self._progress.cancel is not None:
            self._progress.cancel()


def _count(progress: Progress) -> str:
    """How much is done, of how much where that is known."""
    if progress.total:
        return f"{progress.done} of {progress.total}"
    return str(progress.done) if progress.done else ""
