"""TIFFs of every layout are read right, by whichever library does, or refused for what they are."""

import io
import zlib
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

from calm_gui.errors import PictureError
from calm_gui.model.picture import load_picture

HEIGHT, WIDTH = 12, 17
GENERATOR = np.random.default_rng(0)
RAMP = np.linspace(0, 1, HEIGHT * WIDTH).reshape(HEIGHT, WIDTH)
COLOUR = np.stack([RAMP, RAMP[::-1], RAMP[:, ::-1]], -1)


def shown(path: Path) -> np.ndarray:
    return load_picture(path).pixels


@pytest.mark.parametrize("compression", [None, "zlib"])
@pytest.mark.parametrize("planar", ["contig", "separate"])
@pytest.mark.parametrize("byteorder", ["<", ">"])
@pytest.mark.parametrize("bigtiff", [False, True])
@pytest.mark.parametrize("rows", [None, 5])
def test_sixteen_bit_colour_in_any_layout(tmp_path, compression, planar, byteorder, bigtiff, rows):
    values = np.round(COLOUR * 65535).astype(np.uint16)
    stored = values if planar == "contig" else np.moveaxis(values, -1, 0)
    path = tmp_path / "x.tif"
    with tifffile.TiffWriter(path, byteorder=byteorder, bigtiff=bigtiff) as file:
        file.write(stored, photometric="rgb", planarconfig=planar, compression=compression, rowsperstrip=rows)
    assert np.array_equal(shown(path), (values >> 8).astype(np.uint8))


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "i1", "i2", "i4", "f2", "f4", "f8"])
@pytest.mark.parametrize("photometric", ["minisblack", "miniswhite"])
@pytest.mark.parametrize("compression", [None, "zlib"])
@pytest.mark.parametrize("byteorder", ["<", ">"])
def test_gray_of_every_type_shows_its_ramp_the_right_way_round(tmp_path, dtype, photometric, compression, byteorder):
    kind = np.dtype(dtype)
    if kind.kind == "f":
        values = (RAMP * 1000 - 300).astype(kind)
    else:
        limits = np.iinfo(kind)
        values = (
            np.round(limits.min + RAMP * (float(limits.max) - limits.min)).clip(limits.min, limits.max).astype(kind)
        )
    path = tmp_path / "x.tif"
    with tifffile.TiffWriter(path, byteorder=byteorder) as file:
        file.write(values, photometric=photometric, compression=compression)
    expected = RAMP if photometric == "minisblack" else 1 - RAMP
    assert np.abs(shown(path)[..., 0] - expected * 255).max() <= 2


@pytest.mark.parametrize("compression", ["tiff_lzw", "tiff_adobe_deflate", "packbits"])
@pytest.mark.parametrize("zero", [0, 1])
def test_deep_gray_that_tifffile_has_no_codec_for(tmp_path, compression, zero):
    values = np.round(RAMP * 65535).astype(np.uint16)
    image = Image.fromarray(values)
    image.save(tmp_path / "x.tif", compression=compression, tiffinfo={262: zero})
    with tifffile.TiffFile(tmp_path / "x.tif") as file:
        assert file.pages.first.photometric == zero
    expected = RAMP if zero else 1 - RAMP
    assert np.abs(shown(tmp_path / "x.tif")[..., 0] - expected * 255).max() <= 1


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("planar", ["contig", "separate"])
def test_orientation_is_followed_whoever_decodes(tmp_path, orientation, planar):
    values = np.round(COLOUR * 65535).astype(np.uint16)
    stored = values if planar == "contig" else np.moveaxis(values, -1, 0)
    extra = [(274, "H", 1, orientation, True)]
    tifffile.imwrite(tmp_path / "deep.tif", stored, photometric="rgb", planarconfig=planar, extratags=extra)
    eight = (values >> 8).astype(np.uint8)
    tifffile.imwrite(tmp_path / "eight.tif", eight, photometric="rgb", extratags=extra)
    assert np.array_equal(shown(tmp_path / "deep.tif"), shown(tmp_path / "eight.tif"))


@pytest.mark.parametrize(
    ("shape", "dtype", "options", "said"),
    [
        ((2,), "u2", {"photometric": "minisblack"}, "2 channels"),
        ((4,), "u2", {"photometric": "minisblack"}, "4 channels"),
        ((5,), "u1", {"photometric": "minisblack"}, "5 channels"),
        ((2,), "u1", {"photometric": "minisblack"}, "2 channels"),
        ((5,), "u2", {"photometric": "rgb"}, "5 channels of 16 bits"),
        ((4,), "u2", {"photometric": "rgb", "extrasamples": ["unspecified"]}, "4 channels of 16 bits"),
        ((3,), "f4", {"photometric": "rgb"}, "floating-point colour"),
        ((3,), "f8", {"photometric": "rgb"}, "floating-point colour"),
        ((), "c8", {"photometric": "minisblack"}, "complex numbers"),
    ],
)
def test_what_is_no_picture_to_look_at_is_refused_for_what_it_is(tmp_path, shape, dtype, options, said):
    values = GENERATOR.random((HEIGHT, WIDTH, *shape)).astype(dtype)
    tifffile.imwrite(tmp_path / "x.tif", values, planarconfig="contig" if shape else None, **options)
    with pytest.raises(PictureError, match=said):
        load_picture(tmp_path / "x.tif")


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("planar", ["contig", "separate"])
def test_alpha_is_laid_on_white_at_either_depth(tmp_path, deep, planar):
    alpha = np.where(RAMP > 0.5, 1.0, 0.0)
    values = np.round(np.dstack([COLOUR, alpha]) * 65535).astype(np.uint16)
    values = values if deep else (values >> 8).astype(np.uint8)
    stored = values if planar == "contig" else np.moveaxis(values, -1, 0)
    tifffile.imwrite(tmp_path / "x.tif", stored, photometric="rgb", planarconfig=planar, extrasamples=["unassalpha"])
    pixels = shown(tmp_path / "x.tif")
    assert (pixels[alpha == 0] == 255).all()
    assert np.abs(pixels[alpha == 1] - COLOUR[alpha == 1] * 255).max() <= 1


@pytest.mark.parametrize("where", ["subdirectory", "next directory", "version"])
def test_camera_raw_is_refused_instead_of_its_preview(tmp_path, where):
    preview = np.zeros((6, 8, 3), np.uint8)
    raw = np.zeros((HEIGHT, WIDTH), np.uint16)
    with tifffile.TiffWriter(tmp_path / "x.dng") as file:
        if where == "version":
            file.write(preview, photometric="rgb", extratags=[(50706, "B", 4, (1, 4, 0, 0), True)])
        else:
            file.write(preview, photometric="rgb", subfiletype=1, subifds=int(where == "subdirectory"))
            file.write(raw, photometric=32803, metadata=None, extratags=[(33421, "H", 2, (2, 2), True)])
    with pytest.raises(PictureError, match="camera raw"):
        load_picture(tmp_path / "x.dng")


def test_the_first_of_a_stack_is_told(tmp_path):
    values = np.round(np.stack([RAMP, RAMP]) * 65535).astype(np.uint16)
    tifffile.imwrite(tmp_path / "x.tif", values, photometric="minisblack")
    assert "first of 2 frames" in load_picture(tmp_path / "x.tif").notes


@pytest.mark.parametrize("deep", ["uint8", "uint16", "gray uint16"])
@pytest.mark.parametrize("first", ["reduced", "two reduced"])
def test_a_reduced_copy_is_never_taken_for_the_picture(tmp_path, deep, first):
    whole = (COLOUR[..., 0] if deep.startswith("gray") else COLOUR) * (255 if deep == "uint8" else 65535)
    whole = np.round(whole).astype(deep.split()[-1])
    kind = "rgb" if whole.ndim == 3 else "minisblack"
    with tifffile.TiffWriter(tmp_path / "x.tif") as file:
        for step in (4, 2)[: 1 if first == "reduced" else 2]:
            file.write(whole[::step, ::step], photometric=kind, subfiletype=1)
        file.write(whole, photometric=kind)
    picture = load_picture(tmp_path / "x.tif")
    assert picture.size == (WIDTH, HEIGHT)
    shown_as = whole if deep == "uint8" else whole / 257
    expected = shown_as if whole.ndim == 3 else np.repeat(shown_as[..., None], 3, 2)
    assert np.abs(picture.pixels - expected).max() <= 1
    pages = 2 if first == "reduced" else 3
    assert f"page {pages} of {pages}, after a reduced copy or a mask" in picture.notes
    with tifffile.TiffWriter(tmp_path / "only.tif") as file:  # all are: there is no other
        file.write(whole, photometric=kind, subfiletype=1)
    assert load_picture(tmp_path / "only.tif").size == (WIDTH, HEIGHT)


@pytest.mark.parametrize("deep", [False, True])
def test_alpha_that_colours_are_multiplied_by_is_divided_out(tmp_path, deep):
    alpha = np.where(RAMP > 0.5, 1.0, 0.25)
    values = np.round(np.dstack([COLOUR * alpha[..., None], alpha]) * 65535).astype(np.uint16)
    values = values if deep else (values >> 8).astype(np.uint8)
    tifffile.imwrite(tmp_path / "x.tif", values, photometric="rgb", extrasamples=["assocalpha"])
    expected = COLOUR * alpha[..., None] + 1 - alpha[..., None]
    assert np.abs(shown(tmp_path / "x.tif") - expected * 255).max() <= 3


@pytest.mark.parametrize("kind", ["unassalpha", "assocalpha"])
@pytest.mark.parametrize("photometric", ["minisblack", "miniswhite"])
@pytest.mark.parametrize("planar", ["contig", "separate"])
@pytest.mark.parametrize("dtype", ["u1", "u2"])
def test_grey_with_alpha_at_either_depth(tmp_path, kind, photometric, planar, dtype):
    alpha = np.where(RAMP > 0.5, 1.0, 0.25)
    gray = RAMP * alpha if kind == "assocalpha" else RAMP
    stored = 1 - gray if photometric == "miniswhite" else gray
    values = np.round(np.dstack([stored, alpha]) * np.iinfo(dtype).max).astype(dtype)
    values = values if planar == "contig" else np.moveaxis(values, -1, 0)
    path = tmp_path / "x.tif"
    tifffile.imwrite(path, values, photometric=photometric, planarconfig=planar, extrasamples=[kind])
    assert np.abs(shown(path)[..., 0] - (RAMP * alpha + 1 - alpha) * 255).max() <= 3
    assert ("16-bit grey read at 8 bits" in load_picture(path).notes) == (dtype == "u2")


@pytest.mark.parametrize(
    ("dtype", "photometric", "said"),
    [("i1", "rgb", "3 channels of type int8"), ("i2", "rgb", "of type int16"), ("u4", "rgb", "of type uint32")],
)
def test_whole_values_of_a_kind_that_nobody_reads_are_not_called_damaged(tmp_path, dtype, photometric, said):
    tifffile.imwrite(tmp_path / "x.tif", (COLOUR * 100).astype(dtype), photometric=photometric)
    with pytest.raises(PictureError, match=said):
        load_picture(tmp_path / "x.tif")
    tifffile.imwrite(
        tmp_path / "x.tif", (RAMP * 9).astype("u2"), photometric="palette", colormap=np.zeros((3, 2**16), np.uint16)
    )
    with pytest.raises(PictureError, match="1 channel of type uint16"):
        load_picture(tmp_path / "x.tif")


def test_whoever_turns_a_tiff_says_so(tmp_path):
    extra = [(274, "H", 1, 6, True)]
    for dtype in ("u1", "u2"):
        tifffile.imwrite(tmp_path / "x.tif", (RAMP * 255).astype(dtype), photometric="minisblack", extratags=extra)
        picture = load_picture(tmp_path / "x.tif")
        assert picture.size == (HEIGHT, WIDTH) and picture.notes.count("turned upright by EXIF") == 1


@pytest.mark.shared
def test_the_files_of_microscopes_and_cameras(shared):
    folder = shared / "trials/inputs/pictures"
    same = [shown(folder / f"tiff_rgb_uint16{kind}.tif") for kind in ("", "_planar")]
    assert np.array_equal(*same)
    for name, said in (
        ("raw_with_preview.dng", "camera raw"),
        ("raw_renamed.tif", "camera raw"),
        ("tiff_rgb_float32.tif", "floating-point colour"),
        ("tiff_2_channels_uint16.tif", "2 channels"),
        ("tiff_4_channels_uint16.tif", "4 channels"),
        ("tiff_5_channels_uint8.tif", "5 channels"),
    ):
        with pytest.raises(PictureError, match=said):
            load_picture(folder / name)


def chunk(kind: bytes, content: bytes) -> bytes:
    return len(content).to_bytes(4) + kind + content + zlib.crc32(kind + content).to_bytes(4)


@pytest.mark.parametrize(
    ("kind", "content", "said"),
    [
        (b"zTXt", b"Comment\0\0" + zlib.compress(b"x" * 3_000_000), "text"),
        (b"iTXt", b"Comment\0\1\0\0\0" + zlib.compress(b"x" * 3_000_000), "text"),
        (b"iCCP", b"profile\0\0" + zlib.compress(b"x" * 3_000_000), "colour profile"),
    ],
)
@pytest.mark.parametrize("before", [True, False])
def test_a_png_with_a_long_text_or_profile_opens_without_it(tmp_path, kind, content, said, before):
    pixels = np.round(COLOUR * 255).astype(np.uint8)
    target = io.BytesIO()
    Image.fromarray(pixels).save(target, "PNG")
    data = target.getvalue()
    place = 33 if before or kind == b"iCCP" else len(data) - 12
    (tmp_path / "x.png").write_bytes(data[:place] + chunk(kind, content) + data[place:])
    picture = load_picture(tmp_path / "x.png")
    assert np.array_equal(picture.pixels, pixels)
    assert picture.notes == (f"too long a {said}, ignored",)


@pytest.mark.parametrize("shape", [(64, 48), (64, 48, 3)])
def test_a_deep_tiff_without_some_strips_is_refused_instead_of_shown_black_there(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    path = tmp_path / "sparse.tif"
    pixels = np.random.default_rng(0).integers(0, 65536, shape, dtype=np.uint16)
    tifffile.imwrite(path, pixels, photometric="rgb" if len(shape) == 3 else "minisblack", rowsperstrip=16)
    with tifffile.TiffFile(path, mode="r+b") as file:
        tag = file.pages.first.tags["StripByteCounts"]
        counts = tag.value
        assert len(counts) == 4 and load_picture(path).pixels.any()
        tag.overwrite((*counts[:2], 0, counts[3]))
    with pytest.raises(PictureError, match="lacks some of its strips"):
        load_picture(path)
