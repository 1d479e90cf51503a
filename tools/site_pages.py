"""Pages of the documentation site that are made from the program itself; a hook of mkdocs (see mkdocs.yml).

Command lines come from their parsers, columns and options from the code, the tutorial from the notebook, which is run,
decisions from their folder, and README, CONTRIBUTING and CHANGELOG from the root, with their links turned to the site's
pages. A link that leads nowhere is a warning, and warnings end the build.

Tables of columns, options and keys stand in docs/ too, for those who read it there. `python tools/site_pages.py` writes
them again; one that the code has left behind is a warning.
"""

import argparse
import dataclasses
import inspect
import io
import logging
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page
from PIL import Image

ROOT = Path(__file__).parents[1]

_log = logging.getLogger("mkdocs.calm_gui")

_LEFT_OUT = ("**/*.map", "assets/javascripts/lunr", "404.html", "sitemap.xml*")
"""Files of the theme that an English site without a server has no use for."""

FROM_ROOT = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
AS_TEXT = ("LICENSE", "NOTICE", "CITATION.cff", "SECURITY.md")
"""Files of the root that the site shows as they are."""

_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    sys.path[:0] = [str(ROOT), str(ROOT / "training"), str(ROOT / "resources"), str(ROOT / "tools")]
    text, pictures = _tutorial()
    pages: dict[str, str | bytes] = {
        "commands.md": _commands(),
        "tutorial.md": text,
        **pictures,
        "iframe-worker.js": (ROOT / "tools/iframe-worker.js").read_text(encoding="utf-8"),
        **{page: _from_root(name) for name, page in FROM_ROOT.items()},
        **{f"{name}.txt": (ROOT / name).read_bytes() for name in AS_TEXT},
    }
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """List the decisions, which nobody should have to add by hand."""
    found = sorted(file.src_uri for file in files if file.src_uri.startswith("decisions/"))
    pages = [Page(None, files.get_file_from_path(path), config) for path in found]
    nav.items.append(Section("Decisions", list(pages)))
    nav.pages.extend(pages)
    return nav


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links to the root to the site's pages."""
    if _with_tables(markdown) != markdown:
        _log.warning(f"{page.file.src_uri} has an old table; python tools/site_pages.py writes it again")
    return _LINK.sub(lambda link: f"]({_target(link[1], page.file.src_uri)})", markdown)


def _target(link: str, page: str) -> str:
    """A link from a page of docs/ to a file of the root, as a link within the site."""
    name = link.removeprefix("../" * (page.count("/") + 1))
    path, _, anchor = name.partition("#")
    if link.startswith("../") and path in FROM_ROOT:
        return "../" * page.count("/") + FROM_ROOT[path] + (f"#{anchor}" if anchor else "")
    return link


def _from_root(name: str) -> str:
    def target(link: re.Match[str]) -> str:
        path, _, anchor = link[1].partition("#")
        path = FROM_ROOT.get(path, path.removeprefix("docs/"))
        if path.endswith(".ipynb"):
            path = "tutorial.md"
        if path == "decisions":
            path = f"decisions/{min((ROOT / 'docs/decisions').glob('*.md')).name}"
        if path in AS_TEXT:
            path = f"{path}.txt"
        return f"]({path}" + (f"#{anchor}" if anchor else "") + ")"

    return _LINK.sub(target, (ROOT / name).read_text(encoding="utf-8"))


# Command lines


def _commands() -> str:
    from calm_gui.__main__ import build_parser as window
    from calm_gui.cli.parser import build_parser as explain
    from calm_training.cli import build_parser as train
    from calm_training.evaluate.cli import build_parser as evaluate

    parts = ["# Command lines\n\nWhat `--help` prints, from the parsers themselves.\n"]
    for make in (window, explain, train, evaluate):
        parts += _help(make())
    return "\n".join(parts)


def _help(parser: argparse.ArgumentParser, level: int = 2) -> Iterator[str]:
    yield f"{'#' * level} {parser.prog}\n\n```text\n{parser.format_help().rstrip()}\n```\n"
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from _help(child, level + 1)


# The notebook


def _tutorial() -> tuple[str, dict[str, bytes]]:
    """The notebook as a page with what its cells show, and the pictures among that."""
    from notebook import execute, picture_of

    parts, pictures = [], {}
    for number, cell in enumerate(execute(ROOT / "docs/notebook.ipynb"), 1):
        if cell.kind == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        if cell.printed:
            parts.append(f"```text\n{cell.printed.rstrip()}\n```")
        if picture := picture_of(cell.value):
            name = f"images/tutorial-{number}.webp"
            pictures[name] = _smaller(picture)
            parts.append(f"![What the cell shows]({name})")
        elif cell.value is not None:
            parts.append(f"```text\n{cell.value!r}\n```")
        if show := getattr(cell.value, "_repr_html_", None):
            parts += re.findall(r"<table>.*</table>", show() or "", re.DOTALL)  # its figure is the picture above
    return "\n\n".join(parts) + "\n", pictures


def _names() -> Iterator[str]:
    """What people look up: columns of the summary, options of figures, keys of recipes."""
    for table in (_columns(), _figure_options(), _recipe_keys()):
        for row in table.splitlines()[2:]:
            yield row.split("`")[1]


def _smaller(png: bytes) -> bytes:
    """A picture as WebP, which keeps all colours of a map in a fifth of the bytes."""
    target = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").save(target, format="webp", quality=90, method=6)
    return target.getvalue()


def on_post_build(config: MkDocsConfig) -> None:
    """Leave out what nobody reads, and look at every link."""
    from check_links import broken_links

    site = Path(config.site_dir)
    for pattern in _LEFT_OUT:
        for path in list(site.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for sentence in broken_links(sorted(site.rglob("*.html"))):
        _log.warning(sentence)
    found = (site / "search/search_index.json").read_text(encoding="utf-8")
    for name in _names():
        if f"<code>{name}</code>" not in found:
            _log.warning(f"the site's search doesn't find {name}")


# Tables from the code


def _figure_options() -> str:
    from calm_gui.render.figure_spec import FigureSpec

    words = _attribute_docs(FigureSpec)
    rows = [
        f"| `{field.name}` | `{_default(field)}` | {words.get(field.name, '')} |"
        for field in dataclasses.fields(FigureSpec)
    ]
    return "| option | default | meaning |\n|---|---|---|\n" + "\n".join(rows)


def _view() -> str:
    from calm_gui.session.state import View

    words = _attribute_docs(View)
    rows = [
        f"| `{name}` | `{_cell(repr(default))}` | {words.get(name, '')} |"
        for name, default in View._field_defaults.items()
    ]
    return "| key of `view` | default | meaning |\n|---|---|---|\n" + "\n".join(rows)


def _columns() -> str:
    from calm_gui.session.summary_columns import MEANINGS

    rows = [f"| `{name}` | {_cell(meaning)} |" for name, meaning in MEANINGS.items()]
    return "| column | a cell says |\n|---|---|\n" + "\n".join(rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _with_tables(markdown: str) -> str:
    """A page whose tables, from ``<!-- columns -->`` or the like to ``<!-- end -->``, are as the code makes them."""

    def table(found: re.Match[str]) -> str:
        return f"<!-- {found[1]} -->\n\n{MADE[found[1]]()}\n\n<!-- end -->"

    return re.sub(rf"<!-- ({'|'.join(MADE)}) -->.*?<!-- end -->", table, markdown, flags=re.DOTALL)


def _readings() -> str:
    from calm_gui.core.readings import READINGS

    rows = [
        f"| `{reading.key}` | {reading.title} | `{reading.formula}` | {reading.question} | {reading.unit} |"
        for reading in READINGS.values()
    ]
    return "| key | reading | formula | question | unit |\n|---|---|---|---|---|\n" + "\n".join(rows)


def _methods() -> str:
    from importlib import import_module

    from calm_gui.methods import METHODS, OF_TORCHCAM

    for name in OF_TORCHCAM:  # listed whether or not torchcam is here
        import_module(f"calm_gui.methods.{name}")
    rows = [f"| `{m.key}` | {m.title} | {(type(m).__doc__ or '').splitlines()[0]} |" for m in METHODS.values()]
    return "| key | method | what |\n|---|---|---|\n" + "\n".join(rows)


def _recipe_keys() -> str:
    from calm_training.config import Config
    from calm_training.methods import training_methods

    sections = {section.name: _resolved(Config, section.name) for section in dataclasses.fields(Config)}
    sections |= {f"methods.{name}": method.Settings for name, method in training_methods().items()}
    rows = []
    for name, kind in sections.items():
        if not dataclasses.is_dataclass(kind):
            continue
        words = _attribute_docs(kind)
        rows += [
            f"| `{name}.{field.name}` | `{_default(field)}` | {words.get(field.name, '')} |"
            for field in dataclasses.fields(kind)
        ]
    return "| key | default | meaning |\n|---|---|---|\n" + "\n".join(rows)


def _resolved(owner: Any, name: str) -> Any:
    from typing import get_type_hints

    return get_type_hints(owner)[name]


def _default(field: Any) -> str:
    if field.default is not dataclasses.MISSING:
        return repr(field.default).replace("|", "\\|")
    return "" if field.default_factory is dataclasses.MISSING else "…"


def _attribute_docs(kind: Any) -> dict[str, str]:
    """What the Attributes sections of a class and its bases say of each name; a line may name several."""
    found = _attribute_docs(kind.__base__) if dataclasses.is_dataclass(kind.__base__) else dict[str, str]()
    names: list[str] = []
    lines = inspect.cleandoc(kind.__doc__ or "")
    _, _, section = lines.partition("Attributes\n----------\n")
    for line in section.splitlines():
        if line and not line.startswith(" "):
            names = [name.strip() for name in line.split(" : ")[0].split(",")]
            kind_of = line.partition(" : ")[2]
            found.update({name: kind_of.replace("|", "\\|") for name in names})
        elif line.strip():
            for name in names:
                found[name] += (". " if found[name] and not found[name].endswith(" ") else "") + line.strip() + " "
    return {name: " ".join(text.split()) for name, text in found.items()}


MADE = {
    "figure options": _figure_options,
    "columns": _columns,
    "view": _view,
    "readings": _readings,
    "other methods": _methods,
    "recipe keys": _recipe_keys,
}

if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "training"), str(ROOT / "resources")]
    for path in (ROOT / "docs").rglob("*.md"):
        path.write_text(_with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")
