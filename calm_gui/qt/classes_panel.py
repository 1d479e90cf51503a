"""The left side: search, target and contrast, predicted classes, WordNet."""

from itertools import pairwise

from PySide6 import QtWidgets
from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QTabWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from calm_gui.qt.chips import ChipRow
from calm_gui.qt.hierarchy_view import HierarchyView
from calm_gui.qt.hub import Hub
from calm_gui.qt.icons import icon
from calm_gui.qt.predicted_view import PredictedView
from calm_gui.session.expression import Expression, class_key, smallest_node
from calm_gui.session.scene import Scene

__all__ = ["ClassesPanel"]


class ClassesPanel(QFrame):
    """Search field, chips, and the two views of the classes."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self._hub = hub
        self._workspace = hub.workspace

        self.search = QLineEdit()
        self.search.setPlaceholderText("Search name, synonym, wnid, index")
        self.search.setAccessibleName("Search classes")
        self.search.setClearButtonEnabled(True)
        self.search.setToolTip("Ctrl+F. Finds classes and groups by name, synonym, wnid, index or description")
        self._found = QLabel("")
        self._found.setObjectName("muted")
        self._found.hide()

        self.target = ChipRow("target", "Target A")
        self.contrast = ChipRow("contrast", "Contrast B")
        self.target.edited.connect(self._workspace.set_target)
        self.contrast.edited.connect(self._workspace.set_contrast)
        self._swap = swap = QToolButton()
        swap.setIcon(icon("swap"))
        swap.setProperty("icon name", "swap")
        swap.setToolTip("Exchange target and contrast (Ctrl+E)")
        swap.setAccessibleName("Exchange target and contrast")
        swap.clicked.connect(self._workspace.swap)
        self._sets = QToolButton()
        self._sets.setText("⋯")
        self._sets.setToolTip("Predicted class, its superset, runner-up, everything else, siblings")
        self._sets.setAccessibleName("Ready-made sets")
        self._sets.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        ready = QMenu(self)
        ready.aboutToShow.connect(lambda: self._fill_ready_made(ready))
        self._sets.setMenu(ready)

        self.tree = HierarchyView()
        self.predicted = PredictedView()
        for view in (self.tree, self.predicted):
            view.chosen.connect(lambda key: self._workspace.set_target(Expression.of(key)))
            view.toggled.connect(self._workspace.toggle)
            view.contrasted.connect(lambda key: self._workspace.set_contrast(Expression.of(key)))
            view.menu_wanted.connect(self._show_menu)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setAccessibleName("Lists of classes")
        self.tabs.addTab(self.predicted, "Predicted")
        self.tabs.addTab(self.tree, "WordNet")
        self.tabs.setCurrentWidget(self.tree)
        fold = QToolButton()
        fold.setIcon(icon("fold"))
        fold.setProperty("icon name", "fold")
        fold.setCheckable(True)
        fold.setChecked(True)
        fold.setToolTip("Fold chains of groups that hold the same classes")
        fold.setAccessibleName("Fold chains")
        fold.toggled.connect(self.tree.set_folded)
        self.tabs.setCornerWidget(fold, Qt.Corner.TopRightCorner)

        chips = QVBoxLayout()
        chips.setSpacing(4)
        chips.addWidget(self.target)
        chips.addWidget(self.contrast)
        sets = QHBoxLayout()
        sets.setSpacing(2)
        sets.addLayout(chips, 1)
        buttons = QVBoxLayout()
        buttons.setSpacing(0)
        buttons.addWidget(self._sets)
        buttons.addWidget(swap)
        buttons.addStretch(1)
        sets.addLayout(buttons)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(6)
        layout.addWidget(self.search)
        layout.addWidget(self._found)
        layout.addLayout(sets)
        layout.addWidget(self.tabs, 1)

        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(80)
        self._typing.timeout.connect(self.apply_search)
        self.search.textChanged.connect(lambda _: self._typing.start())
        self.search.returnPressed.connect(self._enter)
        self.search.installEventFilter(self)
        focus = QShortcut(QKeySequence.StandardKey.Find, self)
        focus.setContext(Qt.ShortcutContext.WindowShortcut)
        focus.activated.connect(self._focus_search)
        self._chips_ordered = -1
        self._revealed: object = None
        hub.scene_changed.connect(self.show_scene)
        self.show_scene(hub.scene)

    def show_scene(self, scene: Scene) -> None:
        """Show a scene."""
        self.target.show_scene(scene)
        self.contrast.show_scene(scene)
        self._order_chips()
        self.predicted.show_scene(scene, self._searched)
        position, has_hierarchy = self.tabs.indexOf(self.tree), scene.hierarchy is not None
        if self.tabs.isTabEnabled(position) != has_hierarchy:  # Qt paints all tabs anew, changed or not
            self.tabs.setTabEnabled(position, has_hierarchy)
        self.tree.show_scene(scene)
        if scene.explanation is not None and self._revealed is not scene.explanation and not self._searched:
            self._revealed = scene.explanation
            if scene.lead_class is not None and scene.hierarchy is not None:
                self.tree.reveal(class_key(scene.lead_class, scene.classes))

    def _order_chips(self) -> None:
        """Let Tab go from the search field to the chips, where they stand; one made later would come last."""
        chips = (*self.target.chips, *self.contrast.chips)
        if len(chips) != self._chips_ordered:
            self._chips_ordered = len(chips)
            for before, after in pairwise((self.search, *chips, self._sets, self._swap)):
                self.setTabOrder(before, after)

    @property
    def _searched(self) -> str:
        """What is searched for; blanks are nothing."""
        return self.search.text().strip()

    def reveal_target(self) -> None:
        """Show the smallest group that holds the target."""
        scene = self._hub.scene
        if scene.hierarchy is not None and (key := smallest_node(scene.target, scene.hierarchy)):
            self._reveal(key)

    def reveal_predicted(self) -> None:
        """Show the most probable class."""
        scene = self._hub.scene
        if scene.explanation is not None:
            self._reveal(class_key(scene.explanation.top(1)[0][0], scene.classes))

    def reveal_truth(self) -> None:
        """Show the class that ground truth names."""
        scene = self._hub.scene
        if scene.state.picture and (index := self._workspace.true_class(scene.state.picture)) is not None:
            self._reveal(class_key(index, scene.classes))

    def _reveal(self, key: str) -> None:
        self.search.clear()
        self.apply_search()
        self.tabs.setCurrentWidget(self.tree)
        self.tree.reveal(key)
        self.tree.setFocus()

    def keep_target(self) -> None:
        """Ask for a name and keep the target under it."""
        scene = self._hub.scene
        target = scene.state.selection.target
        name, accepted = QtWidgets.QInputDialog.getText(self, "Keep the target", "Name", text=scene.name(target))
        if accepted and name.strip():
            self._workspace.keep_set(name.strip(), target)

    def apply_search(self) -> None:
        """Search for what the field holds, now."""
        self._typing.stop()
        text = self._searched
        found = self.tree.search(text)
        self.predicted.show_scene(self._hub.scene, text)
        classes = self.predicted.classes.rowCount()
        self._found.setVisible(bool(text))
        groups = f", {found - classes} groups" if found > classes else ""
        if not text:
            self.follow_target()
        self._found.setText(f"{classes} {'class' if classes == 1 else 'classes'}{groups}" if text else "")

    def follow_target(self) -> None:
        """Keep the target current in the tree, after it was changed elsewhere or a search ended."""
        scene = self._hub.scene
        if scene.hierarchy is None or self._searched:
            return
        if key := smallest_node(scene.target, scene.hierarchy):
            self.tree.reveal(key)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """In the search field, Down goes to what was found and Escape clears."""
        if watched is self.search and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Escape and self.search.text():
                self.search.clear()
                return True
            if event.key() == Qt.Key.Key_Down:
                self._enter()
                return True
        return super().eventFilter(watched, event)

    def _enter(self) -> None:
        """Return in the search field: to the results, and a single class is chosen at once."""
        self.apply_search()
        view = self.tabs.currentWidget()
        view.setFocus()
        hits = self.tree.first_hit()
        if view is self.tree and hits is not None:
            self.tree.reveal(hits)
        if self.predicted.classes.rowCount() == 1:
            key = self.predicted.classes.data(self.predicted.classes.index(0, 0), Qt.ItemDataRole.UserRole)
            self._workspace.set_target(Expression.of(key))

    def _focus_search(self) -> None:
        self.search.setFocus()
        self.search.selectAll()

    def _fill_ready_made(self, menu: QMenu) -> None:
        menu.clear()
        target, contrast = self._workspace.set_target, self._workspace.set_contrast
        for title, key, setter in (
            ("A: predicted class", "@predicted", target),
            ("A: superset of the predicted class", "@superset", target),
            ("B: runner-up", "@runner-up", contrast),
            ("B: everything else", "@rest", contrast),
            ("B: siblings of A", "@siblings", contrast),
        ):
            menu.addAction(title).triggered.connect(lambda _=False, k=key, s=setter: s(Expression.of(k)))
        menu.addSeparator()
        menu.addAction("Keep the target…").triggered.connect(self.keep_target)
        for kept in self._workspace.state.named_sets:
            own = menu.addMenu(kept.name)
            own.addAction("is the target A").triggered.connect(lambda _=False, e=kept: target(e))
            own.addAction("is the contrast B").triggered.connect(lambda _=False, e=kept: contrast(e))
            own.addAction("Forget it").triggered.connect(lambda _=False, e=kept: self._workspace.forget_set(e.name))

    def _show_menu(self, key: str, position: QPoint) -> None:
        workspace, selection = self._workspace, self._workspace.state.selection
        menu = QMenu(self)
        alone = Expression.of(key)
        for title, setter, expression in (
            ("Target A is this", workspace.set_target, alone),
            ("Add to A", workspace.set_target, selection.target.including(key)),
            ("Take away from A", workspace.set_target, selection.target.excluding(key)),
            ("Contrast B is this", workspace.set_contrast, alone),
            ("Add to B", workspace.set_contrast, selection.contrast.including(key)),
            ("Take away from B", workspace.set_contrast, selection.contrast.excluding(key)),
        ):
            menu.addAction(title).triggered.connect(lambda _=False, s=setter, e=expression: s(e))
        menu.exec(position)
