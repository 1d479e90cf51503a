"""All commands of the window, by menu."""

from typing import Any, Protocol

from calm_gui.api import bundled_checkpoints, bundled_facts, sample_pictures
from calm_gui.qt.adaptation import Adaptation
from calm_gui.qt.docks import DOCKS, Area
from calm_gui.qt.panes.pane_grid import PaneGrid
from calm_gui.qt.theme import DARK, current_theme
from calm_gui.qt.window.actions import Command
from calm_gui.qt.window.dialogs import Dialogs
from calm_gui.qt.window.dock_places import DockPlaces
from calm_gui.qt.window.file_actions import FileActions
from calm_gui.qt.window.layouts import LAYOUTS
from calm_gui.qt.window.pane_actions import PaneActions
from calm_gui.qt.window.question_bar import QuestionBar
from calm_gui.qt.window.reading_keys import reading_keys
from calm_gui.session.expression import Expression
from calm_gui.session.pane import PICTURE
from calm_gui.session.workspace import Workspace

__all__ = ["Commanded", "window_commands"]

Menu = list[Command | None]

_KEYS = {"values": "Ctrl+U"}
"""Of docks."""


class Commanded(Protocol):
    """What commands need of the window: its parts, and what it does itself."""

    workspace: Workspace
    files: FileActions
    dialogs: Dialogs
    panes: PaneGrid
    pane_actions: PaneActions
    docks: DockPlaces
    question: QuestionBar
    adaptation: Adaptation

    def close(self) -> bool: ...
    def panel(self, key: str) -> Any: ...
    def step_picture(self, by: int) -> None: ...
    def climb(self, up: bool) -> None: ...
    def find_class(self) -> None: ...
    def set_dark(self, on: bool) -> None: ...
    def set_full_screen(self, on: bool) -> None: ...
    def set_pictures_alone(self, on: bool) -> None: ...


def window_commands(window: Commanded) -> dict[str, Menu]:
    """Menus and their commands."""
    return {
        "&File": _file(window),
        "&Edit": _edit(window),
        "&View": _view(window),
        "&Panes": _panes(window),
        "&Classes": _classes(window),
        "&Help": [
            Command("tour", "&What am I looking at?", window.dialogs.show_tour),
            Command("guide", "&Guide", window.dialogs.show_guide, "Shift+F1"),
            Command("glossary", "G&lossary", window.dialogs.show_glossary),
            Command(
                "documentation",
                "&Documentation",
                window.dialogs.show_documentation,
                tip="The whole documentation in the browser; needs no network",
            ),
            Command("keys", "&Keys…", window.dialogs.show_keys, "F1"),
            Command("report", "&Report a problem…", window.dialogs.report_problem),
            Command("about", "&About calm-gui", window.dialogs.show_about),
        ],
    }


def _file(window: Commanded) -> Menu:
    files, workspace = window.files, window.workspace
    return [
        Command("open", "&Open picture…", files.open_pictures, "Ctrl+O", "open", "Open pictures"),
        Command("folder", "Open &folder…", files.open_folder, "Ctrl+Shift+O"),
        Command("samples", "Open &sample pictures", lambda: workspace.open_pictures(sample_pictures())),
        Command("truth", "Load &ground truth…", files.load_truth, tip="Classes and boxes of pictures from a CSV table"),
        None,
        Command("checkpoint", "Open &checkpoint…", files.open_checkpoint, "Ctrl+K", "checkpoint"),
        *(
            Command(
                f"bundled_{name}",
                f"Bundled: {name} ({bundled_facts(name)})",
                lambda path=path: workspace.open_checkpoint(path),
            )
            for name, path in bundled_checkpoints().items()
        ),
        Command("checkpoint_info", "Checkpoint and &device…", window.dialogs.show_checkpoint, "Ctrl+I"),
        Command(
            "make_calm",
            "&Make it a CALM…",
            lambda: window.dialogs.make_calm(window.adaptation),
            "Ctrl+Alt+M",
            tip="Maps that are probabilities, for a plain classifier, from pictures without labels",
        ),
        None,
        Command("open_session", "Open s&ession…", files.open_session, "Ctrl+Alt+O"),
        Command(
            "last_session",
            "&Restore the last session",
            files.restore_last,
            tip="What was open when calm-gui last ended",
        ),
        Command("save_session", "S&ave session…", files.save_session, "Ctrl+Alt+S"),
        Command("pack_session", "Pac&k session…", files.pack_session, tip="Session and pictures in one file"),
        None,
        Command("export", "&Export figure…", files.export, "Ctrl+S", "export", "Save what the panes show"),
        Command("numbers", "Export &numbers…", files.export_numbers, "Ctrl+Shift+S"),
        Command("batch", "&Batch…", files.batch, "Ctrl+Alt+B", tip="Explain all open pictures"),
        None,
        Command("settings", "Se&ttings…", window.dialogs.show_settings, "Ctrl+,"),
        Command("quit", "&Quit", window.close, "Ctrl+Q"),
    ]


def _edit(window: Commanded) -> Menu:
    store, files = window.workspace.store, window.files
    return [
        Command("undo", "&Undo", store.undo, "Ctrl+Z", "undo"),
        Command("redo", "&Redo", store.redo, "Ctrl+Shift+Z; Ctrl+Y", "redo"),
        None,
        Command(
            "copy", "&Copy", window.pane_actions.copy, "Ctrl+C", tip="Copy what is selected, or the pane as a picture"
        ),
        Command("paste", "&Paste a picture", files.paste, "Ctrl+V", tip="A picture or files from the clipboard"),
        Command("copy_picture", "Copy pane as &picture", window.pane_actions.copy_picture, "Ctrl+Alt+P"),
        Command("copy_sentence", "Copy &sentence", window.pane_actions.copy_sentence, "Ctrl+Shift+C"),
        Command(
            "copy_boxes",
            "Copy &boxes",
            window.pane_actions.copy_boxes,
            "Ctrl+Alt+C",
            tip="Boxes of the threshold as text",
        ),
        None,
        Command("clear_regions", "Remove all re&gions", window.pane_actions.clear_regions, "Ctrl+Shift+R"),
    ]


def _view(window: Commanded) -> Menu:
    workspace = window.workspace
    return [
        Command("previous", "&Previous picture", lambda: window.step_picture(-1), "Ctrl+Left", "previous"),
        Command("next", "&Next picture", lambda: window.step_picture(1), "Ctrl+Right", "next"),
        Command("predict_all", "Pre&dict all open pictures", workspace.predict_all),
        None,
        Command("fit", "&Fit picture", workspace.reset_view, "Ctrl+0", "fit"),
        Command("zoom_in", "Zoom &in", lambda: window.pane_actions.zoom(1.25), "Ctrl++; Ctrl+="),
        Command("zoom_out", "Zoom &out", lambda: window.pane_actions.zoom(0.8), "Ctrl+-"),
        Command("actual", "One pixel &to one", window.pane_actions.zoom_to_pixels, "Ctrl+1"),
        None,
        Command(
            "box",
            "&Rectangle region",
            lambda on: window.pane_actions.use_tool("box", on),
            "Ctrl+R",
            "rectangle",
            checked=False,
        ),
        Command(
            "lasso",
            "&Lasso region",
            lambda on: window.pane_actions.use_tool("polygon", on),
            "Ctrl+L",
            "lasso",
            checked=False,
        ),
        Command(
            "brush",
            "&Brush region",
            lambda on: window.pane_actions.use_tool("brush", on),
            "Ctrl+B",
            "brush",
            checked=False,
        ),
        None,
        Command(
            "ranks",
            "Ra&nk of the cell as unit",
            lambda on: workspace.update_view(ranks=on),
            "Ctrl+Shift+U",
            tip="The one unit that maps of different methods can share",
            checked=False,
        ),
        None,
        *_docks(window),
        None,
        Command("theme", "D&ark", window.set_dark, "Ctrl+D", checked=current_theme().name == DARK.name),
        Command("pictures_alone", "Pictures &alone", window.set_pictures_alone, "F11", checked=False),
        Command("full_screen", "F&ull screen", window.set_full_screen, "Shift+F11", checked=False),
    ]


def _docks(window: Commanded) -> Menu:
    docks = window.docks
    sides: dict[Area, tuple[str, str]] = {
        "left": ("Fold the &left docks", "F7"),
        "bottom": ("Fold the b&ottom docks", "F8"),
        "right": ("Fold the ri&ght docks", "F9"),
    }
    return [
        *(
            Command(
                f"dock_{dock.key}",
                dock.title,
                lambda on, k=dock.key: window.docks.show(k, on),
                _KEYS.get(dock.key, ""),
                tip=dock.tip,
                checked=False,
            )
            for dock in DOCKS.values()
        ),
        *(Command(f"fold_{area}", text, lambda a=area: docks.fold_area(a), key) for area, (text, key) in sides.items()),
        Command("reset_docks", "Docks as at the first start", docks.forget),
    ]


def _panes(window: Commanded) -> Menu:
    workspace = window.workspace
    return [
        *(
            Command(f"layout_{i}", title, lambda f=layout: workspace.set_panes(f(workspace)), f"Ctrl+Alt+{i}")
            for i, (title, layout) in enumerate(LAYOUTS.items(), start=1)
        ),
        Command(
            "calm_and_cam",
            "CALM next to CAM, by &rank",
            lambda: workspace.show_by_rank(LAYOUTS["Checkpoints side by side"](workspace)),
            f"Ctrl+Alt+{len(LAYOUTS) + 1}",
            tip="The checkpoints side by side, on the scale that both can share: the rank of the cell",
        ),
        None,
        Command("add_pane", "&Add pane", workspace.add_pane, "Ctrl+T"),
        Command("close_pane", "&Close pane", lambda: workspace.close_pane(workspace.state.active), "Ctrl+W"),
        Command("next_pane", "&Next pane", window.pane_actions.next_pane, "F6"),
        None,
        *(
            Command(f"columns_{count or 'fit'}", text, lambda c=count: window.panes.fix_columns(c))
            for count, text in (
                (None, "Columns as they &fit"),
                (1, "One column"),
                (2, "Two columns"),
                (3, "Three columns"),
            )
        ),
        None,
        Command("enlarge", "&Enlarge the pane", window.pane_actions.enlarge, "Ctrl+M", checked=False),
        Command("flicker", "&Flicker with the next pane", window.pane_actions.flicker, "Ctrl+J", checked=False),
        Command("slider", "Before and after by &slider", window.pane_actions.slider, "Ctrl+Shift+J", checked=False),
        None,
        *(
            Command(
                f"reading_{shows.key}",
                "Picture only" if shows is PICTURE else shows.title,
                lambda s=shows: workspace.change_pane(workspace.state.active, shows=s),
                key,
            )
            for shows, key in reading_keys()
        ),
    ]


def _classes(window: Commanded) -> Menu:
    workspace, files = window.workspace, window.files
    return [
        Command("swap", "S&wap A and B", workspace.swap, "Ctrl+E", "swap"),
        Command("parent", "To the &larger group", lambda: window.climb(up=True), "Alt+Up"),
        Command("child", "To the &smaller group", lambda: window.climb(up=False), "Alt+Down"),
        None,
        Command(
            "suggested",
            "To the su&ggested group",
            lambda: workspace.set_target(Expression.of("@superset")),
            "Alt+Shift+Up",
            tip="A is the superset of the predicted class",
        ),
        Command("choose_a", "Choose A…", window.question.target.open, "Ctrl+Shift+A"),
        Command("choose_b", "Choose B…", window.question.contrast.open, "Ctrl+Shift+B"),
        None,
        Command("find", "&Find a class or group", window.find_class, "Ctrl+F"),
        Command("show_target", "Show &A in the tree", lambda: window.panel("classes").reveal_target(), "Ctrl+G"),
        Command(
            "show_predicted",
            "Show the &predicted class",
            lambda: window.panel("classes").reveal_predicted(),
            "Ctrl+Shift+G",
        ),
        Command("show_truth", "Show the &true class", lambda: window.panel("classes").reveal_truth(), "Ctrl+Alt+G"),
        Command("keep_set", "&Keep A under a name…", window.dialogs.keep_target, "Ctrl+Alt+K"),
        None,
        Command("annotate", "Annotate &supersets…", window.dialogs.annotate, "Ctrl+Alt+A"),
        Command("match", "&Match classes to WordNet…", window.dialogs.match_classes),
        Command("load_hierarchy", "Load your own &hierarchy…", files.load_hierarchy),
        Command("save_hierarchy", "Save the hierarchy…", files.save_hierarchy),
    ]
