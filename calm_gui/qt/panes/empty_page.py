"""What stands in the panes' place while no picture is open."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from calm_gui.api import sample_pictures
from calm_gui.qt.theme import current_theme

__all__ = ["EmptyPage"]


class EmptyPage(QFrame):
    """An area to drop files on, and three buttons.

    Signals
    -------
    pictures_wanted, folder_wanted, samples_wanted, checkpoint_wanted
        A button was pressed.
    """

    pictures_wanted = Signal()
    folder_wanted = Signal()
    samples_wanted = Signal()
    checkpoint_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        title = QLabel("Drop pictures or a folder here")
        font = title.font()
        font.setPointSizeF(font.pointSizeF() * 1.25)
        font.setBold(True)
        title.setFont(font)
        words = QLabel(
            "The window then shows where in the picture the classifier finds its evidence for a class or a group, "
            "as opposed to another."
        )
        words.setObjectName("muted")
        words.setWordWrap(True)
        buttons = QHBoxLayout()
        self.buttons = []
        for text, signal in (
            ("Open pictures…", self.pictures_wanted),
            ("Open folder…", self.folder_wanted),
            (f"Try the {len(sample_pictures())} samples", self.samples_wanted),
        ):
            button = QPushButton(text)
            button.setAutoDefault(False)
            button.clicked.connect(signal)
            self.buttons.append(button)
            buttons.addWidget(button)
        self.buttons[0].setObjectName("primary")
        buttons.addStretch(1)
        self.checkpoint = QLabel()
        self.checkpoint.setObjectName("muted")
        self.checkpoint.setTextFormat(Qt.TextFormat.RichText)
        self.checkpoint.setAccessibleName("Checkpoint")
        self.checkpoint.linkActivated.connect(lambda _: self.checkpoint_wanted.emit())
        inside = QVBoxLayout()
        inside.setSpacing(10)
        for widget in (title, words):
            inside.addWidget(widget)
        inside.addLayout(buttons)
        inside.addSpacing(6)
        inside.addWidget(self.checkpoint)
        block = QWidget()
        block.setLayout(inside)
        block.setMaximumWidth(460)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(block, 4)
        row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.addStretch(1)
        layout.addLayout(row)
        layout.addStretch(1)

    def name_checkpoint(self, name: str, classes: int) -> None:
        """Say with what pictures will be explained."""
        link = f'<a href="open" style="color: {current_theme().accent}">Open another…</a>'
        self.checkpoint.setText(f"Checkpoint: {name}, {classes:,} classes. {link}")

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(theme.canvas))
        painter.setPen(QPen(QColor(theme.muted), 1, Qt.PenStyle.DashLine))
        painter.drawRect(self.rect().adjusted(4, 4, -5, -5))
