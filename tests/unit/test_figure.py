"""Figures: the same picture in every format, of the size that was asked for."""

import io
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pymupdf
import pytest
from cycler import cycler
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from PIL import Image
from synthetic import calm_explanation, cam_explanation

from calm_gui.core.geometry import Box
from calm_gui.errors import ExportError
from calm_gui.render import lettering
from calm_gui.render.colormap import colour_table
from calm_gui.render.drawing import drawing
from calm_gui.render.figure import map_figure
from calm_gui.render.figure_file import save_figure
from calm_gui.render.figure_spec import PRESETS, FigureSpec
from calm_gui.render.layout import Panel, arrange
from calm_gui.render.lettering import text_width
from calm_gui.render.map_scale import scales_of
from calm_gui.render.naming import map_title
from calm_gui.render.overlay import overlay_picture
from calm_gui.render.panel import compose, save_overlay
from calm_gui.render.sheet import SheetItem, contact_sheet, save_sheet
from calm_training.evaluate.evaluation import EVALUATIONS
from calm_training.evaluate.intervals import Estimate
from calm_training.evaluate.masks import MaskResult
from calm_training.evaluate.plot import draw


@pytest.fixture(scope="module")
def explanation():
    return calm_explanation()


def mask_result(name: str) -> MaskResult:
    return MaskResult(1, {name: 0.5}, estimates={name: {"PxAP": Estimate(0.5)}})


def rendered(path, dpi: int) -> np.ndarray:
    """A file's pixels (h,w,3), by a reader that isn't ours."""
    if path.suffix in (".pdf", ".svg"):
        with pymupdf.open(path) as document:
            pixmap = document[0].get_pixmap(dpi=dpi, alpha=False)
            return np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3)
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


@pytest.mark.parametrize("grid", [(14, 14), (28, 28), (7, 9)])
@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("dpi", [72, 150, 300])
def test_every_format_shows_the_same_picture(tmp_path, grid, native, dpi):
    explanation = calm_explanation(grid)
    figure = map_figure(explanation, [explanation.attribution("dog")], width=60, dpi=dpi, native=native)
    pictures = {}
    for suffix in ("png", "svg", "pdf", "tiff"):
        save_figure(figure, tmp_path / f"map.{suffix}")
        pictures[suffix] = rendered(tmp_path / f"map.{suffix}", dpi).astype(float)
    height, width = pictures["png"].shape[:2]
    assert width == round(60 / 25.4 * dpi)
    assert np.array_equal(pictures["tiff"], pictures["png"])
    for suffix in ("svg", "pdf"):
        # A page's size in points may round up to one more pixel.
        assert abs(pictures[suffix].shape[0] - height) <= 1 and abs(pictures[suffix].shape[1] - width) <= 1
        difference = np.abs(pictures[suffix][:height, :width] - pictures["png"][: pictures[suffix].shape[0]])
        assert difference.mean() < 2, f"{suffix} differs by {difference.mean():.2f} of 255"


@pytest.mark.parametrize("native", [False, True])
def test_the_map_has_the_pixels_of_the_overlay(tmp_path, explanation, native):
    shown = explanation.attribution("beagle")
    spec = FigureSpec(width=60, dpi=200, native=native)
    layout = arrange_one(explanation, shown, spec)
    left, top, width, height = layout.places[0].image
    save_figure(map_figure(explanation, [shown], spec), tmp_path / "map.png")
    drawn = rendered(tmp_path / "map.png", 200)[top : top + height, left : left + width]
    scale = scales_of([shown])[0]
    picture = np.asarray(Image.fromarray(explanation.picture).resize((width, height), Image.Resampling.BILINEAR))
    assert np.array_equal(drawn, overlay_picture(picture, shown, scale, opacity=0.6, nearest=native))


def arrange_one(explanation, shown, spec):
    from calm_gui.render.layout import Panel
    from calm_gui.render.naming import map_title

    panel = Panel(shown, scales_of([shown])[0], explanation.geometry.picture, map_title(shown))
    return arrange([panel], spec)


def test_the_hottest_cell_lies_in_its_place_in_every_format(tmp_path):
    # One cell alone has probability: its middle is the centre of gravity of what is brighter than the rest.
    explanation = calm_explanation((14, 14), picture=np.full((90, 120, 3), 128, np.uint8))
    explanation.joint[:] = 0
    explanation.joint[0, 4, 9] = 0.5
    shown = explanation.attribution(0)
    spec = FigureSpec(width=80, dpi=150, overlay=False, native=True, sequential="gray")
    left, top, width, height = arrange_one(explanation, shown, spec).places[0].image
    figure = map_figure(explanation, [shown], spec)
    for suffix in ("png", "svg", "pdf"):
        save_figure(figure, tmp_path / f"map.{suffix}")
        drawn = rendered(tmp_path / f"map.{suffix}", 150)[top : top + height, left : left + width, 0].astype(float)
        y, x = (np.indices(drawn.shape) + 0.5) * drawn / drawn.sum()
        assert x.sum() == pytest.approx((9 + 0.5) / 14 * width, abs=0.5), suffix
        assert y.sum() == pytest.approx((4 + 0.5) / 14 * height, abs=0.5), suffix


@pytest.mark.parametrize(
    ("width", "height", "unit", "dpi", "pixels"),
    [
        (100, 80, "mm", 300, (1181, 945)),
        (4, 3, "inch", 100, (400, 300)),
        (641, 487, "px", 96, (641, 487)),
    ],
)
def test_size_and_dpi_are_as_asked(tmp_path, explanation, width, height, unit, dpi, pixels):
    figure = map_figure(explanation, [explanation.saliency()], width=width, height=height, unit=unit, dpi=dpi)
    for suffix in ("png", "tif", "jpg"):
        save_figure(figure, tmp_path / f"map.{suffix}")
        with Image.open(tmp_path / f"map.{suffix}") as image:
            assert image.size == pixels
            assert float(image.info["dpi"][0]) == pytest.approx(dpi, abs=0.1)
    save_figure(figure, tmp_path / "map.pdf")
    with pymupdf.open(tmp_path / "map.pdf") as document:
        page = document[0].rect
    assert (page.width, page.height) == pytest.approx((pixels[0] * 72 / dpi, pixels[1] * 72 / dpi), abs=0.1)


def test_text_and_boxes_are_vectors_and_the_map_is_one_image(tmp_path, explanation):
    figure = map_figure(explanation, [explanation.attribution("dog")], boxes=[Box(10, 20, 110, 140)], colour_bar=False)
    save_figure(figure, tmp_path / "map.pdf")
    with pymupdf.open(tmp_path / "map.pdf") as document:
        page = document[0]
        assert len(page.get_images()) == 1
        assert "Attribution — dog" in page.get_text()
        width, height = page.get_images()[0][2:4]
        drawings = [d for d in page.get_drawings() if d["type"] == "s"]
    assert len(drawings) == 2  # the box, twice: a dark edge and its colour
    assert width > 1000 and width == height


def test_names_are_literal(tmp_path, explanation):
    figure = map_figure(explanation, [explanation.attribution(4)], width=100)
    save_figure(figure, tmp_path / "map.pdf")
    with pymupdf.open(tmp_path / "map.pdf") as document:
        assert "$x_i$ <" in document[0].get_text()


def test_namesakes_are_told_apart(explanation):
    figure = map_figure(explanation, [explanation.attribution(2), explanation.attribution(3)], width=150)
    texts = [text.get_text() for text in figure.texts]
    assert "Attribution — crane (n02012849)" in texts and "Attribution — crane (n03126707)" in texts


def test_missing_glyphs_are_named(tmp_path, explanation):
    figure = map_figure(explanation, [explanation.saliency()], captions=["an unassigned sign: \U0001fbf5\U00016fe4"])
    assert "\U00016fe4" in figure.missing_glyphs()
    assert any("no font here can draw" in warning for warning in figure.manifest["warnings"])
    save_figure(figure, tmp_path / "map.png")  # without a warning, which would be an error here


UNDRAWABLE = "\U00016fe4\x01\u202e\t漢"


def test_no_letter_warns_wherever_text_is_drawn_and_the_log_names_what_lacks_once(tmp_path, explanation, caplog):
    lettering._said.clear()
    figure = map_figure(
        explanation, [explanation.attribution(4)], titles=[UNDRAWABLE], captions=[UNDRAWABLE], table=[[UNDRAWABLE]]
    )
    for suffix in ("png", "svg", "pdf"):
        save_figure(figure, tmp_path / f"map.{suffix}")
    sheet = contact_sheet([(UNDRAWABLE, [SheetItem(np.zeros((4, 4, 3), np.uint8), (UNDRAWABLE,))])])
    save_sheet(sheet, tmp_path / "sheet.pdf", {})
    draw(EVALUATIONS["masks"], {UNDRAWABLE: mask_result(UNDRAWABLE)}, tmp_path / "plot.json")
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1 and "\U00016fe4" in said[0] and "\x01" not in said[0]


ODD_SETTINGS = {
    "image.origin": "lower",
    "image.interpolation": "nearest",
    "image.interpolation_stage": "rgba",
    "image.resample": False,
    "image.aspect": "auto",
    "font.family": ["serif"],
    "font.size": 20,
    "text.color": "red",
    "text.usetex": True,
    "text.hinting": "none",
    "text.antialiased": False,
    "figure.autolayout": True,
    "figure.dpi": 30,
    "axes.facecolor": "black",
    "axes.grid": True,
    "axes.prop_cycle": cycler(color=["red"]),
    "lines.antialiased": False,
    "patch.antialiased": False,
    "path.effects": [withStroke(linewidth=4)],
    "path.sketch": (10, 30, 3),
    "savefig.bbox": "tight",
    "savefig.transparent": True,
    "svg.fonttype": "none",
    "pdf.use14corefonts": True,
    "axes.formatter.use_locale": True,
    "agg.path.chunksize": 3,
}


@pytest.mark.parametrize("name", ODD_SETTINGS)
def test_no_setting_of_matplotlib_changes_a_byte(tmp_path, explanation, name):
    def everything(folder: Path) -> dict[str, bytes]:
        folder.mkdir()
        spec = FigureSpec(width=60, dpi=60, threshold="mass", threshold_value=0.5, contour=True, found_boxes=True)
        for suffix in ("png", "svg", "pdf"):
            maps = [explanation.attribution("dog"), explanation.winner(2)]
            figure = map_figure(explanation, maps, spec, layout="strip", boxes=[Box(5, 5, 40, 60)])
            save_figure(figure, folder / f"map.{suffix}")
        sheet = contact_sheet([("Lowest p", [SheetItem(np.eye(9, dtype=np.uint8)[..., None] * [9, 99, 255], ("a",))])])
        save_sheet(sheet, folder / "sheet.pdf", {})
        draw(EVALUATIONS["masks"], {"demo": mask_result("attribution")}, folder / "plot.json")
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    usual = everything(tmp_path / "usual")
    with rc_context({name: ODD_SETTINGS[name]}):
        assert everything(tmp_path / "odd") == usual
        assert matplotlib.rcParams[name] == ODD_SETTINGS[name]  # given back


def test_every_setting_of_matplotlib_is_set_while_we_draw():
    def foreign(value: object) -> object:
        return (not value) if isinstance(value, bool) else value + 1 if isinstance(value, (int, float)) else value

    process = {"interactive", "backend_fallback"}  # not about drawing
    with rc_context():
        with drawing():
            usual = dict(matplotlib.rcParams)
        changeable = {n: v for n, v in usual.items() if isinstance(v, (bool, int, float)) and n not in process}
        for name, value in changeable.items():
            with suppress(ValueError, TypeError, RuntimeError):  # a number out of range
                matplotlib.rcParams[name] = foreign(value)
        changed = sum(matplotlib.rcParams[name] != value for name, value in changeable.items())
        with drawing():
            assert dict(matplotlib.rcParams) == usual
    assert changed > 100


@pytest.mark.parametrize("name", ODD_SETTINGS)
def test_a_map_plots_alike_into_given_axes_whatever_the_settings(explanation, name):
    def plotted(settings: dict[str, object]) -> np.ndarray:
        figure = Figure(figsize=(2, 2), dpi=100)
        axes = figure.add_axes((0, 0, 1, 1))
        with rc_context(settings):
            explanation.attribution(4).plot(axes, titles=False, threshold="mass", threshold_value=0.5, contour=True)
        target = io.BytesIO()
        figure.savefig(target, format="png")
        return np.asarray(Image.open(target))

    assert np.array_equal(plotted({name: ODD_SETTINGS[name]}), plotted({}))


def test_files_are_the_same_every_time(tmp_path, explanation):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        for suffix in ("png", "svg", "pdf", "tiff", "jpg"):
            figure = map_figure(explanation, [explanation.attribution("dog"), explanation.winner(2)])
            save_figure(figure, tmp_path / name / f"map.{suffix}")
    for path in sorted((tmp_path / "one").iterdir()):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_maps_of_one_quantity_share_a_scale_with_its_numbers(explanation):
    strong, weak = explanation.attribution("entity"), explanation.attribution(1)
    figure = map_figure(explanation, [strong, weak], layout="strip")
    scales = [entry["scale"] for entry in figure.manifest["maps"]]
    assert scales[0] == scales[1] and scales[0]["high"] == pytest.approx(float(strong.values.max()))
    texts = [text.get_text() for text in figure.texts]
    assert "probability per cell" in texts
    assert texts.count("probability per cell") == 1
    assert any(f"sum {weak.sum:.3f} = p(A|x)" in text for text in texts)
    figure = map_figure(explanation, [strong, weak], scale="fit")
    assert figure.manifest["maps"][1]["scale"]["high"] == pytest.approx(float(weak.values.max()))


def test_different_quantities_never_share_a_scale(explanation):
    figure = map_figure(explanation, [explanation.attribution(0), explanation.conditional(0)])
    assert [text.get_text() for text in figure.texts].count("probability per cell") == 1
    assert "probability of A at the cell" in [text.get_text() for text in figure.texts]


def test_transparent_background_where_asked(tmp_path, explanation):
    save_figure(map_figure(explanation, [explanation.saliency()], transparent=True), tmp_path / "map.png")
    with Image.open(tmp_path / "map.png") as image:
        assert image.mode == "RGBA" and image.getpixel((0, 0))[3] == 0
    save_figure(map_figure(explanation, [explanation.saliency()], background="black"), tmp_path / "map.jpg")
    with Image.open(tmp_path / "map.jpg") as image:
        assert max(image.getpixel((0, 0))) < 8


def test_the_api_line_of_the_documentation(tmp_path, explanation, monkeypatch):
    monkeypatch.chdir(tmp_path)
    figure = explanation.figure(explanation.attribution("dog"), overlay=True)
    assert isinstance(figure, Figure)
    figure.savefig("fig.pdf")
    assert (tmp_path / "fig.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("layout", ["single", "pair", "panes", "strip", "auto"])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_layouts_keep_everything_inside(explanation, layout, count):
    maps = [explanation.attribution(0), explanation.saliency(), explanation.winner(2), explanation.conditional(1)]
    figure = map_figure(explanation, [*maps, explanation.counterfactual(0, 1)][:count], layout=layout, width=180)
    canvas = figure.canvas
    renderer = canvas.get_renderer()
    for artist in (*figure.texts, *figure.axes):
        box = artist.get_window_extent(renderer)
        assert box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.width + 1 and box.y1 <= figure.bbox.height + 1


@pytest.mark.parametrize("shape", [(90, 400), (400, 90), (1, 300), (300, 1), (1, 1)])
def test_pictures_of_any_shape(tmp_path, shape):
    explanation = calm_explanation(picture=np.random.default_rng(0).integers(0, 255, (*shape, 3)).astype(np.uint8))
    figure = map_figure(explanation, [explanation.attribution("dog")], dpi=100, threshold="mass", found_boxes=True)
    save_figure(figure, tmp_path / "map.png")
    width, height = arrange_one(explanation, explanation.attribution("dog"), FigureSpec(dpi=100)).places[0].image[2:]
    assert abs(width * shape[0] - height * shape[1]) <= max(shape) + max(width, height)


@pytest.mark.parametrize(
    "options",
    [
        *({"dpi": 5}, {"width": -1}, {"width": 9e5}, {"height": 2}, {"opacity": 2}, {"layout": "spiral"}),
        *({"sequential": "jet"}, {"font": "No Such Font"}, {"background": "no colour"}, {"nonsense": 1}),
    ],
)
def test_options_that_make_no_sense_are_refused_in_words(explanation, options):
    with pytest.raises(ExportError, match=r"\w{3,} \w+"):
        map_figure(explanation, [explanation.saliency()], **options)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_give_figures(explanation, name):
    figure = map_figure(explanation, [explanation.attribution("dog")], PRESETS[name])
    assert figure.bbox.width == pytest.approx(PRESETS[name].pixels[0], abs=1)


def test_a_map_without_variation_says_so(explanation):
    flat = explanation.attribution([])
    figure = map_figure(explanation, [flat])
    assert any("no variation" in text.get_text() for text in figure.texts)
    assert any("no variation" in warning for warning in figure.manifest["warnings"])


def test_the_plain_overlay_has_the_pictures_pixels(tmp_path, explanation):
    shown = explanation.attribution("dog")
    save_overlay(shown, tmp_path / "plain.png")
    expected = overlay_picture(explanation.picture, shown, scales_of([shown])[0], opacity=0.6)
    with Image.open(tmp_path / "plain.png") as image:
        assert np.array_equal(np.asarray(image), expected)


def test_a_mask_leaves_the_picture_outside(explanation):
    shown = explanation.attribution("dog")
    spec = FigureSpec(threshold="mass", threshold_value=0.5, mask=True)
    size = explanation.picture.shape[:2]
    masked = compose(explanation, shown, scales_of([shown])[0], spec, size)
    full = compose(explanation, shown, scales_of([shown])[0], FigureSpec(), size)
    outside = (masked == explanation.picture).all(axis=2)
    assert 0.05 < outside.mean() < 0.98
    assert np.array_equal(masked[~outside], full[~outside])


def test_what_was_not_seen_is_dimmed(explanation):
    tall = calm_explanation(resize="crop", picture=np.full((300, 100, 3), 200, np.uint8))
    pixels = compose(tall, tall.saliency(), scales_of([tall.saliency()])[0], FigureSpec(), (300, 100))
    assert (pixels[:99] == 70).all() and (pixels[201:] == 70).all()
    assert not (pixels[100:200] == 70).all(axis=2).any()


def test_notebook_representations():
    explanation = calm_explanation(seed=1)
    for png in (explanation.attribution(0)._repr_png_(), explanation._repr_png_(), explanation.winner(1)._repr_png_()):
        with Image.open(io.BytesIO(png)) as image:
            assert image.width > 200
    assert {3, 4} <= {index for index, _ in explanation.top(5)}
    html = explanation._repr_html_()
    assert "crane (n03126707)" in html and "&lt; 漢字" in html and "<script" not in html
    assert cam_explanation()._repr_html_()


def test_a_map_plots_into_given_axes(explanation):
    figure = Figure()
    axes = figure.add_subplot()
    explanation.attribution(4).plot(axes, opacity=0.5)
    assert axes.get_images()[0].get_array().shape == explanation.picture.shape
    assert "sum" in axes.get_title()
    figure.savefig(io.BytesIO())


def test_the_presenter_loads_what_draws_only_when_it_draws():
    code = (
        "import sys, calm_gui\n"
        "assert not {'torch', 'PySide6', 'numpy', 'matplotlib'} & set(sys.modules)\n"
        "import calm_gui.render\n"
        "assert calm_gui.render.PRESENTER and 'matplotlib' not in sys.modules\n"
        "calm_gui.load_checkpoint\n"
        "from calm_gui.render import figure\n"
        "assert not {'PySide6', 'matplotlib.pyplot'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def four_panes(explanation, spec):
    """Panels as a figure of four panes has them; the first two share a scale."""
    maps = [
        explanation.attribution("dog"),
        explanation.attribution("tabby"),
        explanation.counterfactual("dog", "tabby"),
        explanation.conditional("dog"),
    ]
    scales = scales_of(maps, spec.scale, spec.spacing, spec.relative)
    panels = [
        Panel(shown, scale, explanation.geometry.picture, map_title(shown))
        for shown, scale in zip(maps, scales, strict=True)
    ]
    return panels, arrange(panels, spec)


def span(line, spec):
    """From where to where a level line of text goes, in pixels."""
    wide = text_width(line.text, line.size, spec.font, line.strong) * spec.dpi / 72
    left = {"left": line.x, "center": line.x - wide / 2, "right": line.x - wide}[line.align]
    return left, left + wide


@pytest.mark.parametrize("options", [{}, {"spacing": "log"}, {"scale": "fit"}, {"relative": True}])
def test_a_single_column_holds_four_readable_panes(explanation, options) -> None:
    spec = replace(PRESETS["column"], **options)
    panels, layout = four_panes(explanation, spec)
    millimetre = spec.dpi / 25.4
    assert all(place.image[2] >= 36 * millimetre for place in layout.places)
    assert all(line.size >= 6 for line in layout.lines)
    assert all(bar.lying for bar in layout.bars)
    shared = panels[0].scale == panels[1].scale
    assert len(layout.bars) == (3 if shared else 4)
    first, second = (place.image for place in layout.places[:2])
    if shared:  # one bar from the left end of the one to the right end of the other
        left, top, width, _ = layout.bars[0].area
        assert (left, left + width) == (first[0], second[0] + second[2]) and top > first[1] + first[3]
    assert not any("…" in line.text for line in layout.lines)
    assert sum(panel.scale.unit in line.text for panel in panels for line in layout.lines) >= len(layout.bars)
    for one in layout.lines:
        for other in layout.lines:
            if one is not other and one.y == other.y:
                assert span(one, spec)[1] <= span(other, spec)[0] or span(other, spec)[1] <= span(one, spec)[0]
    assert all(span(line, spec)[0] >= 0 and span(line, spec)[1] <= layout.width for line in layout.lines)


def test_a_lying_bar_has_its_first_colour_at_the_left(explanation, tmp_path) -> None:
    spec = PRESETS["column"]
    panels, layout = four_panes(explanation, spec)
    path = tmp_path / "column.png"
    save_figure(map_figure(explanation, [panel.shown for panel in panels], spec), path)
    pixels = rendered(path, spec.dpi)
    for bar in layout.bars:
        left, top, width, height = bar.area
        row = pixels[top + height // 2, left : left + width].astype(int)
        table = colour_table(bar.colour_map).astype(int)
        expected = table[np.round((np.arange(width) + 0.5) / width * 255).astype(int)]
        assert np.abs(row - expected).max() <= 6


def test_a_unit_that_has_no_room_is_told_in_few_words(explanation) -> None:
    _, layout = four_panes(explanation, PRESETS["slide"])
    units = [line.text for line in layout.lines if line.faint and line.rotation]
    assert len(units) == 4 and not any("…" in unit for unit in units) and "p of A at the cell" in units


def test_wide_figures_have_their_bars_beside_the_pictures(explanation) -> None:
    _, layout = four_panes(explanation, PRESETS["two columns"])
    assert len(layout.bars) == 4 and not any(bar.lying for bar in layout.bars)
