"""Rules about imports that import-linter can't express."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "calm_gui").rglob("*.py")) + sorted((ROOT / "training").rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pyplot_nowhere_and_nltk_only_where_wordnet_is_read(path: Path) -> None:
    names = list(imported(path))
    assert not [name for name in names if name.startswith("matplotlib.pyplot")]
    if path.name not in ("noun_reader.py", "resources_build.py"):
        assert not [name for name in names if name.split(".")[0] == "nltk"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_long_files_and_classes_say_why(path: Path) -> None:
    text = path.read_text("utf-8")
    module = ast.parse(text)
    assert text.count("\n") <= 400 or "400 lines" in (ast.get_docstring(module) or "")
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef):
            methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
            assert len(methods) <= 30 or "30 methods" in (ast.get_docstring(node) or ""), node.name


def test_each_folder_says_in_a_sentence_what_lives_there() -> None:
    folders = {path.parent for path in SOURCES}
    for folder in folders:
        first = (ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or "").split("\n\n")[0]
        assert first.endswith(".") and len(first) > 20, folder


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import calm_gui", ("torch", "PySide6", "numpy", "matplotlib")),
        ("import calm_gui; calm_gui.load_checkpoint", ("PySide6",)),
        ("import calm_gui.cli.run", ("torch", "PySide6", "matplotlib")),
        ("import calm_gui.session.workspace, calm_gui.session.scene", ("torch", "PySide6", "scipy", "matplotlib")),
        ("import calm_gui.__main__", ("torch", "PySide6", "numpy")),
    ],
)
def test_imports_stay_lazy(code: str, absent: tuple[str, ...]) -> None:
    report = f"{code}\nimport sys\nprint([name for name in {absent!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_the_first_frame_waits_for_no_large_library() -> None:
    code = """
import sys
from calm_gui.qt.app import build_window, make_application
from calm_gui.qt.theme import LIGHT, apply_theme
application = make_application()
apply_theme(LIGHT)
window = build_window("demo", "cpu")
window.show()
application.processEvents()
assert window.panel("classes").tree.nodes.rowCount()
print([name for name in ("numpy", "PIL", "torch", "scipy", "matplotlib", "socket") if name in sys.modules], flush=True)
__import__("os")._exit(0)
"""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert ran.stdout.strip() == "[]"


def test_pyside_reads_the_source_of_no_module() -> None:
    code = "import calm_gui.qt.app, linecache, timeit\nprint(*linecache.cache, sep='\\n')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not [name for name in ran.stdout.splitlines() if Path(name).name == "timeit.py" or "calm_gui" in name]
