"""What am I looking at?: the parts of the window one after the other, each framed and explained."""

from collections.abc import Callable
from typing import Any, NamedTuple

from PySide6.QtCore import QEvent, QObject, QPoint, QRect
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QPushButton, QRubberBand, QVBoxLayout, QWidget

__all__ = ["STOPS", "TourDialog"]


class Stop(NamedTuple):
    """A part of the window.

    Attributes
    ----------
    title, text : str
    part : callable
        Window -> the widget to frame.
    """

    title: str
    text: str
    part: Callable[[Any], Any]


STOPS = (
    Stop(
        "The question",
        "Everything here answers one question: where is the evidence for A, as opposed to B? A (red) and B (blue) are "
        "classes or groups of classes. Click them to choose others. The buttons on the right choose the reading: "
        "the kind of map that answers the question.",
        lambda window: window.question,
    ),
    Stop(
        "A pane",
        "The picture with a map. For the attribution, each cell's colour is the probability that the picture shows A "
        "and that the cue for it lies in this cell. The cells' values add up to the number in the header, p of A.",
        lambda window: window.panes.panes[window.workspace.state.active],
    ),
    Stop(
        "The scale",
        "The colours and their values. Panes with the same quantity share a bar, so that their colours can be "
        "compared. Drag its ends to change the limits; the lock keeps them for all pictures.",
        lambda window: window.scales,
    ),
    Stop(
        "The ledger",
        "What the active map says, in a sentence. The tick says that the cells' values add up to the network's own "
        "probability. This is checked for every map.",
        lambda window: window.ledger,
    ),
    Stop(
        "Classes",
        "All classes and groups of the checkpoint with their probabilities. Return makes a row A, Ctrl+Return makes it "
        "B. The button at this edge opens and folds the list.",
        lambda window: window.stripes[0],
    ),
    Stop(
        "Ladder, regions, view",
        "The ladder shows the map of A at every step up the hierarchy, from the class to all classes. Regions show "
        "how much of the evidence lies inside a part that you draw. View changes colours and outline.",
        lambda window: window.stripes[1],
    ),
    Stop(
        "Pictures, results, values",
        "The open pictures; a run over all of them, as a table; the numbers of the active map. The status bar "
        "also shows what is under the cursor.",
        lambda window: window.status,
    ),
)


class TourDialog(QDialog):
    """Goes through `STOPS`.

    Parameters
    ----------
    window : QWidget
        The main window.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setWindowTitle("What am I looking at?")
        self._window = window
        self.position = 0
        self._frame = QRubberBand(QRubberBand.Shape.Rectangle, window)
        self.title, self.text = QLabel(), QLabel()
        self.title.setObjectName("heading")
        self.text.setWordWrap(True)
        self.text.setMinimumWidth(380)
        self.count = QLabel()
        self.count.setObjectName("muted")
        self.back, self.on, done = QPushButton("Back"), QPushButton("Next"), QPushButton("Close")
        self.on.setDefault(True)
        self.back.clicked.connect(lambda: self.go(self.position - 1))
        self.on.clicked.connect(lambda: self.go(self.position + 1))
        done.clicked.connect(self.reject)
        row = QHBoxLayout()
        row.addWidget(self.count)
        row.addStretch(1)
        for button in (self.back, self.on, done):
            row.addWidget(button)
        layout = QVBoxLayout(self)
        layout.addWidget(self.title)
        layout.addWidget(self.text)
        layout.addStretch(1)
        layout.addLayout(row)
        self.finished.connect(lambda _: self._frame.deleteLater())
        window.installEventFilter(self)
        self.go(0)

    def go(self, position: int) -> None:
        """Show a stop; after the last one the dialog closes."""
        if position >= len(STOPS):
            self.accept()
            return
        self.position = max(0, position)
        stop = STOPS[self.position]
        self.title.setText(stop.title)
        self.text.setText(stop.text)
        self.count.setText(f"{self.position + 1} of {len(STOPS)}")
        self.back.setEnabled(self.position > 0)
        self.on.setText("Next" if self.position + 1 < len(STOPS) else "Done")
        self._show_frame()

    @property
    def framed(self) -> QRect:
        """What is framed, in the window's coordinates."""
        part: QWidget = STOPS[self.position].part(self._window)
        return QRect(part.mapTo(self._window, QPoint(0, 0)), part.size())

    def _show_frame(self) -> None:
        self._frame.setGeometry(self.framed)
        self._frame.setVisible(STOPS[self.position].part(self._window).isVisible())
        self._frame.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._show_frame()
        return False
