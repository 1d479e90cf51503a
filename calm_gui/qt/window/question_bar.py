"""The question that the window answers: where is the evidence for A as opposed to B, shown as which reading."""

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QResizeEvent, QStandardItemModel
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from calm_gui.core.readings import CAM, READINGS, Reading
from calm_gui.qt.hub import Hub
from calm_gui.qt.settings import Settings
from calm_gui.qt.widgets.calm_fields import CalmComboBox
from calm_gui.qt.widgets.icon_button import IconButton
from calm_gui.qt.widgets.measure import scaled
from calm_gui.qt.widgets.segments import Segments
from calm_gui.qt.window.set_field import SetField
from calm_gui.session.scene import Scene

__all__ = ["QuestionBar"]

_WORDS = (
    ("Where is the evidence for", "as opposed to", "shown as"),
    ("Evidence for", "rather than", ""),
    ("For", "not", ""),
)
"""The question, long and short and shortest."""

_SHORTEST_BELOW = 761


class QuestionBar(QWidget):
    """The sets A and B, and the reading of the active pane; nothing in it moves when the sets change.

    Signals
    -------
    reading_chosen : Reading
    """

    reading_chosen = Signal(object)

    def __init__(self, hub: Hub, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("questionBar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._hub = hub
        self._words = [QLabel() for _ in range(3)]
        for label in self._words:
            label.setObjectName("muted")
        self.target = SetField(hub, "target")
        self.contrast = SetField(hub, "contrast")
        self.swap = IconButton("swap", "Swap A and B (Ctrl+E)")
        self.swap.clicked.connect(hub.workspace.swap)
        self.segments = Segments("Shown as", {key: reading.label for key, reading in READINGS.items()})
        self.segments.chosen.connect(lambda key: self.reading_chosen.emit(READINGS[key]))
        self.buttons = self.segments.buttons
        self.combo = CalmComboBox()
        self.combo.setAccessibleName("Shown as")
        self.combo.setSizeAdjustPolicy(CalmComboBox.SizeAdjustPolicy.AdjustToContents)
        self.combo.activated.connect(lambda _: self.reading_chosen.emit(READINGS[self.combo.currentData()]))
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 8, 0)
        row.setSpacing(6)
        parts: tuple[QWidget | None, ...] = (
            *(self._words[0], self.target, self.swap, self._words[1], self.contrast, None),
            *(self._words[2], self.segments, self.combo),
        )
        for part in parts:
            if part is None:
                row.addStretch(1)
            else:
                row.addWidget(part)
        self._told: object = None
        self._fit = -1
        self._offered: list[str] = []
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        hub.scene_changed.connect(self.show_scene)
        self.show_scene(hub.scene)
        self.fit_text()

    def show_scene(self, scene: Scene) -> None:
        """Show a scene's sets, and what its active pane shows."""
        self.target.show_scene(scene)
        self.contrast.show_scene(scene)
        shows, explanation = scene.active.shows, scene.active.explanation
        if (shows, type(explanation), scene.hierarchy) == self._told:
            return
        self._told = (shows, type(explanation), scene.hierarchy)
        refusals = {key: reading.refusal(explanation) if explanation else "" for key, reading in READINGS.items()}
        self._offer(refusals, shows.key if isinstance(shows, Reading) else "", explained=explanation is not None)
        self.segments.show_choice(shows.key if isinstance(shows, Reading) else None)
        for key in map(str, self.buttons):  # a reading that was registered later stands in the menus alone
            button = self.buttons[key]
            button.setEnabled(not refusals[key])
            button.setToolTip(refusals[key] or READINGS[key].meaning)

    def _offer(self, refusals: dict[str, str], current: str, explained: bool) -> None:
        """List the readings: those that can't be answered are greyed with the reason; CAM stands in CALM's place."""
        offered = [key for key, refusal in refusals.items() if key != CAM.key or (explained and not refusal)]
        with QSignalBlocker(self.combo):
            if offered != self._offered:
                self._offered = offered
                self.combo.clear()
                for key in offered:
                    self.combo.addItem(READINGS[key].label, key)
                for of, button in self.buttons.items():
                    button.setVisible(of in offered)
                    button.setProperty("last", of == offered[-1])
                    button.style().unpolish(button)
                    button.style().polish(button)
                self._fit = -1
                self._fit_width()
            model = self.combo.model()
            assert isinstance(model, QStandardItemModel)
            for row, key in enumerate(offered):
                model.item(row).setEnabled(not refusals[key])
                model.item(row).setToolTip(refusals[key] or READINGS[key].meaning)
            self.combo.setCurrentIndex(self.combo.findData(current))

    # Width

    def fit_text(self) -> None:
        """Take the heights that the letters ask for."""
        self.setFixedHeight(max(scaled(self, 40), self.fontMetrics().height() + 20))
        inside = max(scaled(self, 28), self.fontMetrics().height() + 8)
        self.combo.setFixedHeight(inside)
        for button in self.buttons.values():
            button.setFixedHeight(inside)
        self._fit = -1
        self._fit_width()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_width()

    def _needed(self, fit: int) -> int:
        """How wide the bar is with one of the wordings."""
        advance = self.fontMetrics().horizontalAdvance
        words = sum(advance(word) + 8 for word in _WORDS[fit] if word)
        fields = 2 * scaled(self, 213) + self.swap.sizeHint().width()
        if fit == 0:
            shown = [button for key, button in self.buttons.items() if key in self._offered]
            return words + fields + sum(button.sizeHint().width() for button in shown) + 64
        return words + fields + self.combo.sizeHint().width() + 64

    def _fit_width(self) -> None:
        """Say the question as long as there is room for it."""
        width = self.width()
        fit = 0 if self._needed(0) <= width else 1 if width >= scaled(self, _SHORTEST_BELOW) else 2
        if fit != self._fit:
            self._fit = fit
            for label, word in zip(self._words, _WORDS[fit], strict=True):
                label.setText(word)
                label.setVisible(bool(word))
            self.segments.setVisible(fit == 0)
            self.combo.setVisible(fit > 0)
        room = width - (self._needed(fit) - 2 * scaled(self, 213))
        field = min(scaled(self, 213), max(scaled(self, 120), room // 2))
        for set_field in (self.target, self.contrast):
            set_field.setFixedSize(field, max(scaled(self, 28), self.fontMetrics().height() + 8))
