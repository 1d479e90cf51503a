"""Classes and groups: a search, the list by probability, the hierarchy."""

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QLabel,
    QLineEdit,
    QStackedWidget,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from calm_gui.qt.classes.hierarchy_view import HierarchyView
from calm_gui.qt.classes.predicted_view import PredictedView
from calm_gui.qt.dock import DockPanel
from calm_gui.qt.hub import Hub
from calm_gui.qt.widgets.icon_button import IconButton
from calm_gui.qt.widgets.set_menu import show_set_menu
from calm_gui.session.expression import Expression, class_key, smallest_node
from calm_gui.session.scene import Scene
from calm_gui.session.suggestions import found_sets

__all__ = ["ClassesPanel"]


class ClassesPanel(DockPanel):
    """A search field and the two views of the classes."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self._hub = hub
        self._workspace = hub.workspace

        self.search = QLineEdit()
        self.search.setPlaceholderText("Search name, synonym, wnid, index")
        self.search.setAccessibleName("Search classes")
        self.search.setClearButtonEnabled(True)
        self.search.setToolTip("Ctrl+F. Find classes and groups by name, synonym, wnid, index or description")
        self._found = QLabel("")
        self._found.setObjectName("muted")
        self._found.hide()

        self.tree = HierarchyView()
        self.predicted = PredictedView()
        for view in (self.tree, self.predicted):
            view.chosen.connect(lambda key: self._workspace.set_target(Expression.of(key)))
            view.toggled.connect(self._workspace.toggle)
            view.contrasted.connect(lambda key: self._workspace.set_contrast(Expression.of(key)))
            view.menu_wanted.connect(lambda key, place: show_set_menu(self, hub.workspace, key, place))
        self.pages = QStackedWidget()
        self.heading = self.tabs = QTabBar()
        self.tabs.setExpanding(False)
        self.tabs.setUsesScrollButtons(False)
        self.tabs.setElideMode(Qt.TextElideMode.ElideRight)
        self.tabs.setAccessibleName("Lists of classes")
        for view, title in ((self.predicted, "Predicted"), (self.tree, "Hierarchy")):
            self.pages.addWidget(view)
            self.tabs.addTab(title)
        self.tabs.currentChanged.connect(self.pages.setCurrentIndex)
        self.show_page(self.tree)
        fold = IconButton("fold", "Fold chains of groups that contain the same classes", checkable=True)
        fold.setChecked(True)
        fold.toggled.connect(self.tree.set_folded)
        self.tools = (fold,)

        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 0)
        layout.setSpacing(4)
        layout.addWidget(self.search)
        layout.addWidget(self._found)
        layout.addWidget(self.pages, 1)

        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(80)
        self._typing.timeout.connect(self.apply_search)
        self.search.textChanged.connect(lambda _: self._typing.start())
        self.search.installEventFilter(self)
        self._revealed: object = None

    def show_scene(self, scene: Scene) -> None:
        """Show a scene."""
        self.predicted.show_scene(scene, self._searched)
        position, has_hierarchy = self.pages.indexOf(self.tree), scene.hierarchy is not None
        if self.tabs.isTabEnabled(position) != has_hierarchy:  # Qt paints all tabs anew, changed or not
            self.tabs.setTabEnabled(position, has_hierarchy)
        self.tree.show_scene(scene)
        for view in (self.tree, self.predicted):
            view.fit_numbers()
        if scene.explanation is not None and self._revealed is not scene.explanation and not self._searched:
            self._revealed = scene.explanation
            if scene.lead_class is not None and scene.hierarchy is not None:
                self.tree.reveal(class_key(scene.lead_class, scene.classes))

    def show_page(self, view: QWidget) -> None:
        """Show the tree or the list."""
        self.tabs.setCurrentIndex(self.pages.indexOf(view))

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
        self.show_page(self.tree)
        self.tree.reveal(key)
        self.tree.setFocus()

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
        """In the search field Down goes to what was found, Return makes the best find A, Ctrl+Return makes it B."""
        if watched is self.search and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Escape and self.search.text():
                self.search.clear()
                return True
            if event.key() == Qt.Key.Key_Down:
                self._go_down()
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._take_best(contrast=bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier))
                return True
        return super().eventFilter(watched, event)

    def _go_down(self) -> None:
        """To the results, which chooses nothing."""
        self.apply_search()
        view = self.tree if self.pages.currentWidget() is self.tree else self.predicted
        view.setFocus()
        hit = self.tree.first_hit()
        if view is self.tree and hit is not None:
            self.tree.reveal(hit)
        elif view is self.predicted and not self.predicted.currentIndex().isValid():
            self.predicted.setCurrentIndex(self.predicted.classes.index(0, 0))

    def _take_best(self, contrast: bool) -> None:
        """Choose the best find, whose name comes nearest to what was typed."""
        self.apply_search()
        if found := found_sets(self._hub.scene, self._searched):
            (self._workspace.set_contrast if contrast else self._workspace.set_target)(found[0].expression)

    def focus_search(self) -> None:
        """Bring the keyboard to the search field."""
        self.search.setFocus()
        self.search.selectAll()
