"""The guide and the glossary inside the window: they need no network."""

from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QImage, QTextDocument
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QHBoxLayout, QPushButton, QTextBrowser, QVBoxLayout, QWidget

import calm_resources
from calm_gui.qt.widgets.screen import fit_to_screen

__all__ = ["GuideDialog", "pages_folder", "site_page"]

PAGES = {"guide": "Guide", "glossary": "Glossary"}


def pages_folder() -> Path:
    """Where the pages lie: beside the resources once installed, in the folder of documentation before."""
    try:
        return calm_resources.path("docs")
    except FileNotFoundError:
        return Path(calm_resources.__file__).parents[2] / "docs"


def site_page() -> Path | None:
    """The first page of the documentation site: the copy that was installed, or the one that `make docs` built."""
    resources = Path(calm_resources.__file__).parent
    places = (resources / "site" / "index.html", resources.parents[1] / "build" / "site" / "index.html")
    return next((place for place in places if place.is_file()), None)


class _Browser(QTextBrowser):
    """Pictures are no wider than the text."""

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        if kind != QTextDocument.ResourceType.ImageResource.value:
            return super().loadResource(kind, name)
        image = QImage(str(pages_folder() / QUrl(name).path().removeprefix("/")))
        most = max(200, self.viewport().width() - 40)
        return image.scaledToWidth(most) if image.width() > most else image


class GuideDialog(QDialog):
    """Shows pages; links between them work, others open in the browser."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.resize(860, 680)
        self.text = _Browser()
        self.text.setAccessibleName("Guide")
        self.text.setOpenLinks(False)
        self.text.anchorClicked.connect(self._follow)
        row = QHBoxLayout()
        for name, title in PAGES.items():
            button = QPushButton(title)
            button.setAutoDefault(False)
            button.clicked.connect(lambda _=False, n=name: self.show_page(n))
            row.addWidget(button)
        row.addStretch(1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        row.addWidget(buttons)
        layout = QVBoxLayout(self)
        layout.addWidget(self.text, 1)
        layout.addLayout(row)
        fit_to_screen(self)

    def show_page(self, name: str) -> None:
        """Show a page of `PAGES`."""
        path = pages_folder() / f"{name}.md"
        self.setWindowTitle(PAGES[name])
        if path.is_file():
            self.text.setMarkdown(path.read_text("utf-8"))
        else:
            self.text.setPlainText(f"{path.name} isn't installed; it is in the folder docs of the source.")

    def _follow(self, link: QUrl) -> None:
        name = link.path().removesuffix(".md")
        if link.scheme():
            QDesktopServices.openUrl(link)
        elif name in PAGES:
            self.show_page(name)
        elif not name and link.fragment():
            self.text.scrollToAnchor(link.fragment())
