"""The legend of a winner map: colours, groups, cells and mass."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import (
    QLabel,
    QListWidget,
    QListWidgetItem,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from calm_gui.core.maps import WinnerMap
from calm_gui.qt.hub import Hub
from calm_gui.qt.theme import current_theme
from calm_gui.render.naming import number_text
from calm_gui.render.overlay import winner_colours
from calm_gui.session.expression import Expression
from calm_gui.session.scene import Scene

__all__ = ["WinnerLegend"]

_KEY_ROLE = Qt.ItemDataRole.UserRole
_MARGINS = 20
"""What a row has besides a group's colour, name and mass."""

_MASS_ROLE = Qt.ItemDataRole.UserRole + 1


class _GroupDelegate(QStyledItemDelegate):
    """Writes a group's mass at the right edge, and elides its name before it."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        super().initStyleOption(option, index)
        mass = option.fontMetrics.horizontalAdvance(index.data(_MASS_ROLE))
        room = option.rect.width() - option.decorationSize.width() - mass - _MARGINS
        option.text = option.fontMetrics.elidedText(option.text, Qt.TextElideMode.ElideRight, room)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().paint(painter, option, index)
        painter.setPen(QColor(current_theme().text))
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(option.rect.adjusted(0, 0, -2, 0), int(right), index.data(_MASS_ROLE))

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, super().sizeHint(option, index).height())  # as wide as the list


class WinnerLegend(QWidget):
    """Shown while the active pane is a winner map; clicking a group makes it the target."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: WinnerMap | None = None
        self.groups = QListWidget()
        self.groups.setAccessibleName("Groups of the winner map")
        self.groups.setMinimumHeight(140)
        self.groups.setItemDelegate(_GroupDelegate(self.groups))
        self.groups.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.groups.itemActivated.connect(self._choose)
        self.groups.itemClicked.connect(self._choose)
        self.note = QLabel()
        self.note.setObjectName("muted")
        self.note.setWordWrap(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.groups)
        layout.addWidget(self.note)
        self._workspace = hub.workspace

    def show_scene(self, scene: Scene) -> None:
        """Show the active pane's legend, if it has one."""
        shown = scene.active.shown
        self.setVisible(isinstance(shown, WinnerMap))
        if not isinstance(shown, WinnerMap) or shown is self._shown:
            return
        self._shown = shown
        self.groups.clear()
        colours = winner_colours(shown)[1]
        for node, cells, mass in shown.legend():
            patch = QPixmap(14, 14)
            patch.fill(QColor(*colours[shown.nodes.index(node)]))
            won = shown.winner == shown.nodes.index(node)
            share = float(shown.share[won].mean())
            name = f"{node.name} · {cells} cell{'s' if cells != 1 else ''}"
            item = QListWidgetItem(QIcon(patch), name)
            item.setData(_MASS_ROLE, number_text(mass))
            item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{name} · {number_text(mass)}")
            item.setToolTip(
                f"{name} · {number_text(mass)}\n{node.key}\n"
                f"mean p({node.name}|x,z) where it wins: {share:.2f}\n{node.gloss}"
            )
            item.setData(_KEY_ROLE, node.key)
            self.groups.addItem(item)
        none = int((shown.winner < 0).sum())
        words = [f"{none} cells have no winner, since p(z|x) is 0 there."] if none else []
        if shown.overlapping:
            words.append("Some groups share classes; each is counted in full.")
        self.note.setText(" ".join(words))

    def _choose(self, item: QListWidgetItem) -> None:
        self._workspace.set_target(Expression.of(item.data(_KEY_ROLE)))
