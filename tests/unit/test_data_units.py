"""Boxes, masks and folders of data sets are what they are taken for, or refused by name."""

import numpy as np
import pytest
from PIL import Image

from calm_gui.errors import DataError
from calm_training.datasets.boxes import read_boxes_csv, read_boxes_wsol
from calm_training.datasets.folder import read_folder
from calm_training.datasets.masks import MaskedPicture, read_masks_wsol

OBJECT = np.zeros((10, 12), bool)
OBJECT[2:7, 3:9] = True


def write(path, values, palette=False):
    image = Image.fromarray(values)
    if palette:
        image = image.convert("L")
        image.putpalette([v for i in range(256) for v in (i, 255 - i, i // 2)])
    image.save(path)
    return path


@pytest.mark.parametrize("kind", ["0/255", "0/1", "1 bit", "palette", "jpeg"])
def test_masks_of_every_kind_are_one_mask(tmp_path, kind):
    match kind:
        case "0/255":
            path = write(tmp_path / "m.png", OBJECT.astype(np.uint8) * 255)
        case "0/1":
            path = write(tmp_path / "m.png", OBJECT.astype(np.uint8))
        case "1 bit":
            path = write(tmp_path / "m.png", OBJECT)
        case "palette":
            path = write(tmp_path / "m.png", OBJECT.astype(np.uint8) * 15, palette=True)
        case "jpeg":
            Image.fromarray(OBJECT.astype(np.uint8) * 255).resize((96, 80), Image.Resampling.NEAREST).save(
                path := tmp_path / "m.jpg", quality=100
            )
    mask = MaskedPicture(tmp_path / "p.png", (path,), (0,)).mask()
    if kind == "jpeg":
        assert (mask[32, 48], mask[0, 0]) == (1, 0) or (mask[32, 48], mask[0, 0]) == (255, 0)
        return
    expected = MaskedPicture(
        tmp_path / "p.png", (write(tmp_path / "e.png", OBJECT.astype(np.uint8) * 255),), (0,)
    ).mask()
    assert np.array_equal(mask, expected)


def test_the_border_of_a_palette_mask_does_not_count(tmp_path):
    values = OBJECT.astype(np.uint8) * 15
    values[2, 3:9] = 255
    mask = MaskedPicture(tmp_path / "p.png", (write(tmp_path / "m.png", values, palette=True),), (0,)).mask()
    ignored, inside, outside = mask[2, 4], mask[4, 4], mask[0, 0]
    assert len({int(ignored), int(inside), int(outside)}) == 3


def test_a_mask_of_numbers_is_refused_by_name(tmp_path):
    path = write(tmp_path / "numbers.png", OBJECT.astype(np.uint8) * 7)
    with pytest.raises(DataError, match=r"numbers\.png holds no 255"):
        MaskedPicture(tmp_path / "p.png", (path,), (0,)).mask()


def test_masks_of_two_sizes_are_refused_by_name(tmp_path):
    one = write(tmp_path / "one.png", OBJECT.astype(np.uint8) * 255)
    two = write(tmp_path / "two.png", OBJECT[::2].astype(np.uint8) * 255)
    with pytest.raises(DataError, match=r"one\.png has 12 x 10 pixels.*two\.png.* 12 x 5"):
        MaskedPicture(tmp_path / "p.png", (one, two), (0,)).mask()


@pytest.mark.shared
def test_boxes_as_fractions_of_the_picture_are_refused(tmp_path, shared):
    (tmp_path / "index.csv").write_text("file,class_index,width,height,boxes\np.png,0,200,100,0.1 0.1 0.6 0.7\n")
    Image.new("RGB", (200, 100)).save(tmp_path / "p.png")
    with pytest.raises(DataError, match="fractions of the picture"):
        read_boxes_csv(tmp_path / "index.csv")
    folder = shared / "trials/inputs/eval_labels"
    with pytest.raises(DataError, match="fractions of the picture"):
        read_boxes_wsol(folder / "metadata/normalised", folder / "images")


@pytest.mark.shared
def test_the_masks_of_the_trials(shared):
    folder = shared / "trials/inputs/eval_masks"
    found = {
        split: [p.mask() for p in read_masks_wsol(folder / "metadata" / split, folder / "images")]
        for split in ("mixed", "m01", "voc", "bit", "m255")
    }
    assert all(np.array_equal(mask, found["m255"][0]) for masks in found.values() for mask in masks if len(masks) > 1)
    assert np.array_equal(found["m01"][0], found["m255"][0]) and np.array_equal(found["bit"][0], found["m255"][0])
    with pytest.raises(DataError, match="of one picture"):
        [p.mask() for p in read_masks_wsol(folder / "metadata/two_sizes", folder / "images")]


@pytest.mark.parametrize(
    "side", [".ipynb_checkpoints", ".thumbnails", "@eaDir", "__MACOSX", "#recycle", "x/.hidden", "@Recycle"]
)
def test_side_folders_of_systems_hold_no_training_pictures(tmp_path, side):
    for name in ("ant", "bee", f"ant/{side}", "bee/closer look"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(tmp_path / name / "a.png")
    found = read_folder(tmp_path, "")
    assert found.counts() == [1, 2]
