"""Pictures from anywhere: one decoding, upright, sRGB, or a refusal in words."""

import os
import shutil
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from calm_gui.errors import PictureError
from calm_gui.model import picture as picture_module
from calm_gui.model.picture import MAX_PIXELS, REDUCED_SIDE, as_picture, load_picture

pytestmark = pytest.mark.shared

ORIENTED = [f"img_exif_orientation_{i}.jpg" for i in range(1, 9)]
SAME_SCENE = [
    *ORIENTED,
    "img_exif_orientation_6.png",
    "img_exif_orientation_6.webp",
    "img_exif_orientation_99.jpg",
    "img_exif_broken.jpg",
    "img_cmyk.tif",
    "img_cmyk_adobe_inverted.jpg",
    "img_cmyk_plain_no_marker.jpg",
    "img_icc_swapped_primaries.png",
    "img_reference.jpg",
    "img_reference.avif",
    "img_png_renamed.jpg",
    "img_webp_renamed.jpg",
    "img_no_extension",
    "img_uppercase_extension.JPEG",
]
DEEP = [
    "img_gray16_full_range.png",
    "img_gray16_12bit_range.png",
    "img_gray16_bigendian.tif",
    "img_rgb16.png",
    "img_int32.tif",
    "img_float32_minus05_to_25.tif",
    "img_float32_nan_inf.tif",
]
SIZED = ["1x1", "1x200", "200x1", "2x3", "37x41", "99x50", "101x67", "1023x7"]
ODD_NAMES = ["名前_図像_ñandú_Öl.png", unicodedata.normalize("NFD", "café_décomposé.png")]
REFUSED = {
    "img_truncated.jpg": "damaged or incomplete",
    "img_truncated.png": "damaged or incomplete",
    "img_bad_crc.png": "damaged or incomplete",
    "img_zero_byte.png": r"empty \(0 bytes\)",
    "img_text_renamed.jpg": "text file",
    "img_html_renamed.jpg": "web page",
    "img_undecodable.heic": "HEIC",
    "img_bomb_30000x30000_1bit.png": "900 megapixels; the limit is 179",
    "img_header_claims_60000x60000.png": "3600 megapixels; the limit is 179",
    "maps": "folder",
    "nowhere.jpg": "no file",
}


@pytest.fixture(scope="module")
def inputs(shared: Path) -> Path:
    return shared / "inputs"


@pytest.mark.parametrize("name", SAME_SCENE)
def test_looks_like_the_reference(inputs: Path, name: str) -> None:
    reference = load_picture(inputs / "img_reference.png").pixels.astype(int)
    seen = load_picture(inputs / name).pixels
    assert seen.shape == reference.shape
    assert np.abs(seen - reference).mean() < 3  # lossy formats; a turn or an exchange of colours gives over 7


@pytest.mark.parametrize(("kind", "kept"), [("TIFF", 8), ("PNG", 8), ("JPEG", 20), ("GIF", 8)])
def test_a_file_that_ends_in_its_head_is_called_by_its_kind(tmp_path: Path, kind: str, kept: int) -> None:
    whole = tmp_path / "whole"
    Image.new("RGB", (40, 30), "red").save(whole, kind)
    (tmp_path / "part").write_bytes(whole.read_bytes()[:kept])
    with pytest.raises(PictureError, match=f"part isn't a picture that can be read \\(a {kind} that is cut off"):
        load_picture(tmp_path / "part")


def test_the_scene_tells_turns_mirrors_and_exchanged_colours_apart(inputs: Path) -> None:
    scene = load_picture(inputs / "img_reference.png").pixels.astype(int)
    others = [scene[::-1], scene[:, ::-1], scene[::-1, ::-1], scene[:, :, ::-1]]
    assert min(np.abs(other - scene).mean() for other in others) > 7


def test_what_was_changed_is_said(inputs: Path) -> None:
    said = {name: " ".join(load_picture(inputs / name).notes) for name in (*SAME_SCENE, *DEEP)}
    assert "turned upright" in said["img_exif_orientation_6.jpg"] and not said["img_exif_orientation_1.jpg"]
    assert "not inverted" in said["img_cmyk_plain_no_marker.jpg"]
    assert "CMYK" in said["img_cmyk.tif"]
    assert "profile converted" in said["img_icc_swapped_primaries.png"]
    assert "65535" in said["img_gray16_full_range.png"] and "4095" in said["img_gray16_12bit_range.png"]
    assert "16-bit colour" in said["img_rgb16.png"]
    assert "-0.5" in said["img_float32_minus05_to_25.tif"]
    assert "aren't finite" in said["img_float32_nan_inf.tif"]


@pytest.mark.parametrize("name", DEEP)
def test_gradient_and_disc_of_deep_pictures_stay_visible(inputs: Path, name: str) -> None:
    pixels = load_picture(inputs / name).pixels
    assert len(np.unique(pixels)) > 50
    assert 40 < pixels.mean() < 215
    middle, left, right = pixels[30:34, 44:52].mean(), pixels[:, :4].mean(), pixels[:, -4:].mean()
    assert middle > max(left, right) or right > left + 40  # the disc is bright, the gradient rises


def test_full_range_and_twelve_bits_show_the_same(inputs: Path) -> None:
    full = load_picture(inputs / "img_gray16_full_range.png").pixels.astype(int)
    for name in ("img_gray16_12bit_range.png", "img_gray16_bigendian.tif"):
        assert np.abs(load_picture(inputs / name).pixels - full).max() <= 1


@given(st.lists(st.integers(0, 65535), min_size=2, max_size=30))
def test_scaling_of_16_bits_is_the_stated_rule(values: list[int]) -> None:
    stored = Image.fromarray(np.array([values], dtype=np.uint16))
    peak = max(values)
    top = next(2**bits - 1 for bits in (8, 10, 12, 14, 16) if peak < 2**bits)
    expected = [round(255 * v / top) for v in values]
    assert np.abs(as_picture(stored).pixels[0, :, 0].astype(int) - expected).max() <= 1


@pytest.mark.parametrize("size", SIZED)
def test_odd_sizes_are_pixel_identical_to_the_file(inputs: Path, size: str) -> None:
    path = inputs / f"img_size_{size}.png"
    width, height = map(int, size.split("x"))
    picture = load_picture(path)
    assert picture.size == (width, height)
    assert np.array_equal(picture.pixels, np.asarray(Image.open(path).convert("RGB")))
    assert picture.pixels.flags.c_contiguous


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_in_any_letters_are_kept(inputs: Path, name: str, tmp_path: Path) -> None:
    folder = tmp_path / "数据 ñ"
    folder.mkdir()
    copy = Path(shutil.copy(inputs / name, folder))
    assert load_picture(copy).name == name


def test_very_long_name(inputs: Path) -> None:
    (path,) = inputs.glob("long_name_*.png")
    assert load_picture(path).name == path.name


def test_names_in_any_letters_under_a_plain_locale(inputs: Path) -> None:
    code = "import sys; from calm_gui.model.picture import load_picture; print(load_picture(sys.argv[1]).size)"
    environment = {**os.environ, "LC_ALL": "C", "LANG": "C"}
    command = [sys.executable, "-c", code, str(inputs / ODD_NAMES[0])]
    assert subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout == "(48, 32)\n"


@pytest.mark.parametrize(("name", "reason"), REFUSED.items())
def test_refused_within_a_second_with_the_reason(inputs: Path, name: str, reason: str) -> None:
    Image.init()  # Pillow looks for its decoders once, at the first file that none of the usual ones reads
    began = time.thread_time()  # not what others' programs take meanwhile
    with pytest.raises(PictureError, match=reason) as refusal:
        load_picture(inputs / name)
    assert time.thread_time() - began < 1
    assert name in str(refusal.value)


_PEAK = """
import resource, sys
from calm_gui.errors import PictureError
from calm_gui.model.picture import load_picture
load_picture(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    load_picture(sys.argv[2])
except PictureError:
    pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize(
    ("name", "megabytes"),
    [
        ("img_bomb_30000x30000_1bit.png", 10),
        ("img_header_claims_60000x60000.png", 10),
        ("img_large_12000x9000_gray.png", 600),
    ],
)
def test_memory_stays_bounded(inputs: Path, name: str, megabytes: int) -> None:
    command = [sys.executable, "-c", _PEAK, str(inputs / "img_reference.png"), str(inputs / name)]
    grown = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert grown / 1024 < megabytes


def test_a_large_honest_scan_is_reduced_and_says_so(inputs: Path) -> None:
    picture = load_picture(inputs / "img_large_12000x9000_gray.png")
    assert picture.size == (6000, 4500)
    assert picture.notes == ("reduced from 12000 x 9000 to 6000 x 4500",)


@pytest.mark.parametrize("mode", ["1", "P", "L", "RGB", "RGBA", "CMYK", "I;16", "F"])
@pytest.mark.parametrize("orientation", [1, 6])
def test_reducing_works_in_every_mode_and_after_turning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, orientation: int
) -> None:
    monkeypatch.setattr(picture_module, "REDUCED_SIDE", 20)
    ramp = np.tile(np.linspace(0, 255, 60), (30, 1))
    image = {
        "I;16": lambda: Image.fromarray((ramp * 257).astype(np.uint16)),
        "F": lambda: Image.fromarray(ramp.astype(np.float32)),
    }.get(mode, lambda: Image.fromarray(ramp.astype(np.uint8)).convert(mode))()
    exif = Image.Exif()
    exif[0x0112] = orientation
    image.save(tmp_path / "x.tif", exif=exif)
    picture = load_picture(tmp_path / "x.tif")
    assert picture.size == ((20, 10) if orientation == 1 else (10, 20))
    assert any("reduced from" in note for note in picture.notes)
    along = picture.pixels.mean(axis=(0, 2) if orientation == 1 else (1, 2))
    assert abs(along[-1] - along[0]) > 150


def test_the_limit_holds_where_another_program_took_pillows_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.bmp"
    Image.new("1", (8, 8)).save(path)
    data = bytearray(path.read_bytes())
    data[18:26] = (20_000).to_bytes(4, "little") * 2
    path.write_bytes(data)
    for limit in (None, Image.MAX_IMAGE_PIXELS):
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
        with pytest.raises(PictureError, match="says it has 400 megapixels; the limit is 179"):
            load_picture(path)


def test_limits_are_stated_where_they_are() -> None:
    assert MAX_PIXELS == 2 * Image.MAX_IMAGE_PIXELS and REDUCED_SIDE < 2**13


def test_transparency_lies_on_white_and_says_so(tmp_path: Path) -> None:
    image = Image.new("RGBA", (4, 2), (255, 0, 0, 0))
    image.putpixel((0, 0), (255, 0, 0, 255))
    image.putpixel((1, 0), (255, 0, 0, 128))
    image.save(tmp_path / "x.png")
    picture = load_picture(tmp_path / "x.png")
    assert picture.pixels[1, 3].tolist() == [255, 255, 255]
    assert picture.pixels[0, 0].tolist() == [255, 0, 0]
    assert picture.pixels[0, 1].tolist() == [255, 127, 127]
    assert picture.notes == ("transparency laid on white",)


@pytest.mark.parametrize("mode", ["LA", "P"])
def test_transparency_of_gray_and_palette(tmp_path: Path, mode: str) -> None:
    image = Image.new("LA", (3, 1), (0, 0)) if mode == "LA" else Image.new("P", (3, 1), 7)
    if mode == "P":
        image.putpalette([0] * 768)
    image.save(tmp_path / "x.png", **({"transparency": 7} if mode == "P" else {}))
    assert (load_picture(tmp_path / "x.png").pixels == 255).all()


def test_palette_colours(tmp_path: Path) -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([10, 20, 30, 200, 100, 50])
    image.putpixel((1, 0), 1)
    image.save(tmp_path / "x.gif")
    assert load_picture(tmp_path / "x.gif").pixels.tolist() == [[[10, 20, 30], [200, 100, 50]]]


@pytest.mark.parametrize("suffix", ["gif", "tif", "webp", "png"])
def test_the_first_of_several_frames_is_shown_and_the_count_said(tmp_path: Path, suffix: str) -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "lime", "blue")]
    frames[0].save(tmp_path / f"x.{suffix}", save_all=True, append_images=frames[1:], **_lossless(suffix))
    picture = load_picture(tmp_path / f"x.{suffix}")
    assert picture.pixels[0, 0].tolist() == [255, 0, 0]
    assert "first of 3 frames" in picture.notes


def _lossless(suffix: str) -> dict[str, bool]:
    return {"lossless": True} if suffix == "webp" else {}


def test_gray_and_bilevel(inputs: Path) -> None:
    for name in ("img_gray8.jpg", "img_bilevel.png", "img_constant_gray.png"):
        pixels = load_picture(inputs / name).pixels
        assert pixels.shape[2] == 3 and (pixels[..., 0] == pixels[..., 2]).all()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(inputs: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(inputs / "img_reference.png", tmp_path))
    path.chmod(0)
    with pytest.raises(PictureError, match="can't be read"):
        load_picture(path)


def test_a_reader_that_is_refused_by_the_system_says_so(inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(PictureError, match=r"img_reference\.png can't be read: Permission denied"):
        load_picture(inputs / "img_reference.png")


def test_a_picture_that_vanished_and_one_that_is_a_pipe(tmp_path: Path) -> None:
    with pytest.raises(PictureError, match="no file"):
        load_picture(tmp_path / "gone.png")
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(PictureError, match="pipe"):
        load_picture(tmp_path / "pipe.png")
    with pytest.raises(PictureError, match="file name"):
        load_picture("a\0b.png")


def test_the_next_good_file_opens_after_every_bad_one(inputs: Path) -> None:
    good = load_picture(inputs / "img_reference.png").pixels
    for name in REFUSED:
        with pytest.raises(PictureError):
            load_picture(inputs / name)
        assert np.array_equal(load_picture(inputs / "img_reference.png").pixels, good)


def test_a_pil_image_is_treated_as_its_file(inputs: Path) -> None:
    with Image.open(inputs / "img_exif_orientation_6.png") as image:
        assert np.array_equal(as_picture(image).pixels, load_picture(inputs / "img_exif_orientation_6.png").pixels)


def test_a_comment_in_the_file_is_not_run_through_any_limit(tmp_path: Path) -> None:
    image = Image.new("RGB", (30, 20), "navy")
    ImageDraw.Draw(image).line((0, 0, 29, 19), "white")
    image.save(tmp_path / "x.jpg", comment=b"\xff" * 60_000)
    assert load_picture(tmp_path / "x.jpg").size == (30, 20)


_DAMAGED_TIFFS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from calm_gui.errors import PictureError
from calm_gui.model.picture import load_picture
def refused(path):
    try:
        load_picture(path)
    except PictureError:
        return True
with ThreadPoolExecutor(4) as pool:
    assert all(pool.map(refused, 8 * sys.argv[1:]))
print("still heard", file=sys.stderr)
"""


def test_a_damaged_tiff_says_nothing_beside_its_sentence(tmp_path: Path) -> None:
    damaged = []
    for compression in ("tiff_lzw", "tiff_deflate"):
        path = tmp_path / f"{compression}.tif"
        noise = np.random.default_rng(0).integers(0, 256, (60, 60, 3), dtype=np.uint8)
        Image.fromarray(noise).save(path, compression=compression)
        data = bytearray(path.read_bytes())
        data[1000:5000] = bytes(4000)
        path.write_bytes(data)
        damaged.append(str(path))
    ran = subprocess.run([sys.executable, "-c", _DAMAGED_TIFFS, *damaged], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "still heard\n")


def test_eight_bits_are_never_taken_for_sixteen(tmp_path: Path) -> None:
    """libtiff is told an offset beside the kind of pixels, and the offset may have a 16 in it."""
    offsets = set()
    for width in range(1, 60):
        Image.new("RGB", (width, 4)).save(tmp_path / "x.tif", compression="packbits")
        with Image.open(tmp_path / "x.tif") as image:
            offsets.add("16" in str(image.tile[0][-1]))
        assert not load_picture(tmp_path / "x.tif").notes
    assert offsets == {True, False}
