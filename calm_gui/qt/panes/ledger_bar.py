"""The ledger line: the active reading in a sentence, whether its sum is right, and how the map lies on the picture."""

from pathlib import Path

from PySide6.QtCore import QRect, QSignalBlocker, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QSlider, QWidget

from calm_gui.core.maps import Map
from calm_gui.qt.hub import Hub
from calm_gui.qt.theme import current_theme
from calm_gui.qt.widgets.icon_button import IconButton
from calm_gui.qt.widgets.measure import scaled
from calm_gui.render.naming import number_text, value_text
from calm_gui.session.ledger import hint, sentence
from calm_gui.session.scene import Scene
from calm_gui.session.state import Threshold

__all__ = ["LedgerBar"]

_OUTLINE = Threshold("mass", 0.9)


class _Words(QWidget):
    """Sentence on the left, sum check on the right; painted here, so that a click lays nothing out anew."""

    def __init__(self) -> None:
        super().__init__()
        self.sentence, self.number, self.check = "", "", ""
        self.passed = True
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        return QSize(200, 20)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        middle = int(Qt.AlignmentFlag.AlignVCenter)
        area = self.rect().adjusted(10, 0, -8, 0)
        painter.setPen(QColor(theme.muted if self.passed else theme.bad))
        whole = painter.fontMetrics().horizontalAdvance(self.check) <= area.width() / 2
        check = self.check if whole else self.check[:1]  # the mark alone still tells
        painter.drawText(area, middle | int(Qt.AlignmentFlag.AlignRight), check)
        room = painter.fontMetrics().horizontalAdvance(check) + 16 if check else 0
        area.setRight(area.right() - room)
        painter.setPen(QColor(theme.text))
        shown = painter.fontMetrics().elidedText(self.sentence, Qt.TextElideMode.ElideRight, area.width())
        before, number, after = shown.partition(self.number) if self.number else (shown, "", "")
        bold = QFont(self.font())
        bold.setBold(True)
        for text, font in ((before, self.font()), (number, bold), (after, self.font())):
            painter.setFont(font)
            painter.drawText(area, middle, text)
            area.setLeft(area.left() + painter.fontMetrics().horizontalAdvance(text))


class LedgerBar(QFrame):
    """One line under the panes.

    Attributes
    ----------
    sentence, check, tip : str
        The texts that are shown.
    passed : bool
        Whether the sum check passed, where there is one.
    """

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("ledger")
        self._workspace = hub.workspace
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._words = _Words()
        self.opacity_label = _Opacity()
        self.opacity = QSlider(Qt.Orientation.Horizontal)
        self.opacity.setRange(0, 100)
        self.opacity.setAccessibleName("Map opacity in percent")
        self.opacity.setToolTip("How much of the map lies over the picture. Hold Space to see the picture alone")
        self.opacity.wheelEvent = lambda event: event.ignore()  # type: ignore[method-assign]
        self.opacity.valueChanged.connect(lambda v: self._workspace.update_view(undoable=False, opacity=v / 100))
        self.outline = IconButton("outline", "Outline 90 % of the map", checkable=True)
        self.outline.clicked.connect(self._toggle_outline)
        line = QFrame()
        line.setObjectName("line")
        line.setFixedSize(1, 14)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 8, 0)
        row.setSpacing(6)
        row.addWidget(self._words, 1)
        for widget in (line, self.opacity_label, self.opacity, self.outline):
            row.addWidget(widget)
        hub.scene_changed.connect(self.show_scene)
        self.show_scene(hub.scene)
        self.fit_text()

    def fit_text(self) -> None:
        """Take the sizes that the letters ask for."""
        self.setFixedHeight(max(scaled(self, 26), self.fontMetrics().height() + 8))
        self.opacity.setFixedWidth(scaled(self, 84))
        self.outline.setFixedSize(22, 20)
        self.opacity_label.fit_text()

    @property
    def sentence(self) -> str:
        """The sentence that is shown."""
        return self._words.sentence

    @property
    def check(self) -> str:
        """The mark of the sum check."""
        return self._words.check

    @property
    def tip(self) -> str:
        """The tooltip: the sentence, what must be known about p, the check's numbers."""
        return self._words.toolTip()

    @property
    def passed(self) -> bool:
        """Whether the sum check passed, where there is one."""
        return self._words.passed

    def show_scene(self, scene: Scene) -> None:
        """Show a scene's sentence and check, and the view's opacity."""
        view = scene.state.view
        percent = round(100 * view.opacity)
        if self.opacity.value() != percent or self.opacity_label.percent != percent:
            with QSignalBlocker(self.opacity):
                self.opacity.setValue(percent)
            self.opacity_label.show_percent(percent)
        if self.outline.isChecked() != (view.threshold.kind != "none"):
            self.outline.setChecked(view.threshold.kind != "none")
        words, mark, tip, number = self._texts(scene)
        if (words, mark) == (self.sentence, self.check):
            return
        shown = self._words
        shown.sentence, shown.check, shown.number = words, mark, number
        shown.passed = not mark.startswith("✗")
        self.setAccessibleName(f"{words} {mark}")
        shown.setToolTip(f"{words}\n\n{hint(scene)}" + (f"\n\n{tip}" if tip else ""))
        shown.update()

    @staticmethod
    def _texts(scene: Scene) -> tuple[str, str, str, str]:
        """Sentence, mark, the mark's numbers, and the number that matters in the sentence."""
        shown = scene.active.shown
        words = sentence(scene)
        content, picture = scene.active, scene.active.pane.picture or scene.state.picture
        if content.explanation is None and picture and not content.message:
            words = f"Explaining {Path(picture).name} …"
        if not isinstance(shown, Map) or shown.check is None:
            return words, "", "", ""
        check = shown.check
        tip = (
            f"Sum of {shown.values.size} cells {value_text(check.total, 7)}, expected {value_text(check.expected, 7)}, "
            f"relative error {number_text(check.error)}. An error above 1 ×10⁻⁴ is marked."
        )
        return words, "✓ adds up" if check.passed else "✗ doesn't add up", tip, scene.active.number

    def _toggle_outline(self, on: bool) -> None:
        self._workspace.update_view(threshold=_OUTLINE if on else Threshold(), contour=True)


class _Opacity(QWidget):
    """The words beside the slider, painted."""

    def __init__(self) -> None:
        super().__init__()
        self.percent = -1
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def fit_text(self) -> None:
        """Take the width that the letters ask for."""
        metrics = self.fontMetrics()
        self.setFixedSize(metrics.horizontalAdvance("opacity 100 %") + 8, metrics.height() + 2)

    def show_percent(self, percent: int) -> None:
        """Show another number."""
        self.percent = percent
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), current_theme()
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        painter.setPen(QColor(theme.text))
        painter.drawText(self.rect(), right, f"{self.percent} %")
        number = painter.fontMetrics().horizontalAdvance(f" {self.percent} %")
        painter.setPen(QColor(theme.muted))
        painter.drawText(QRect(0, 0, self.width() - number, self.height()), right, "opacity")
