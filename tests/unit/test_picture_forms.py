"""Pictures in every form that people hold them in give the same explanation, or a sentence."""

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.api import sample_pictures
from calm_gui.errors import PictureError
from calm_gui.model.loaded import LoadedModel, load_model
from calm_gui.model.picture import as_picture


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load_model(write_tiny_checkpoint(tmp_path_factory.mktemp("tiny") / "tiny.safetensors"), "CPU")


@pytest.fixture(scope="module")
def pixels() -> np.ndarray:
    return np.asarray(Image.open(sample_pictures()[0]).convert("RGB"))


FORMS = {
    "array (h,w,3)": lambda p: p,
    "array (3,h,w)": lambda p: p.transpose(2, 0, 1),
    "array in 0..1": lambda p: p / 255,
    "float32 (3,h,w)": lambda p: (p.transpose(2, 0, 1) / 255).astype(np.float32),
    "opaque (h,w,4)": lambda p: np.dstack([p, np.full(p.shape[:2], 255, np.uint8)]),
    "tensor (3,h,w)": lambda p: torch.from_numpy(p.transpose(2, 0, 1) / 255).float(),
    "uint8 tensor": lambda p: torch.from_numpy(p.transpose(2, 0, 1).copy()),
    "tensor (h,w,3)": lambda p: torch.from_numpy(p.copy()),
    "PIL": Image.fromarray,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_layout_is_the_same_picture(form: str, pixels: np.ndarray) -> None:
    assert np.array_equal(as_picture(FORMS[form](pixels)).pixels, pixels)


def test_files_as_path_bytes_and_file_object_are_the_same() -> None:
    path = sample_pictures()[0]
    expected = as_picture(path)
    data = path.read_bytes()
    for source in (str(path), data, bytearray(data), memoryview(data), io.BytesIO(data)):
        found = as_picture(source)
        assert np.array_equal(found.pixels, expected.pixels) and found.sha256 == expected.sha256
    with path.open("rb") as file:
        assert as_picture(file).name == path.name


def test_grey_becomes_three_equal_channels() -> None:
    grey = np.arange(20, dtype=np.uint8).reshape(4, 5)
    for form in (grey, grey[None], grey[:, :, None], torch.from_numpy(grey)):
        assert np.array_equal(as_picture(form).pixels, np.dstack([grey] * 3))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (np.zeros((5, 6, 7), np.uint8), "no axis of 1, 3 or 4 channels"),
        (np.zeros((2, 3, 8, 8), np.uint8), r"shape \(2, 3, 8, 8\)"),
        (np.zeros((8, 8, 3), np.int64), "int64; give uint8"),
        (np.full((8, 8, 3), np.nan), "holds values from nan"),
        (torch.full((3, 8, 8), -2.0), "normalized=True"),
        (b"", "bytes is empty"),
        (io.StringIO("text"), "mode 'rb'"),
        (7, "a int is no picture"),
        (None, "NoneType is no picture"),
        ("https://example.org/a.png", "is a web address, not a file"),
    ],
)
def test_what_is_no_picture_is_refused_in_words(source: object, reason: str) -> None:
    with pytest.raises(PictureError, match=reason):
        as_picture(source)


def test_batches_give_lists_and_single_pictures_single_explanations(model: LoadedModel, pixels: np.ndarray) -> None:
    one = torch.from_numpy(pixels.transpose(2, 0, 1) / 255).float()
    alone = model.explain(one)
    found = model.explain(torch.stack([one, one.flip(2)]))
    assert isinstance(found, list) and len(found) == 2
    assert np.allclose(found[0].joint, alone.joint, rtol=1e-4, atol=1e-9)
    assert len(model.explain([sample_pictures()[0], one])) == 2
    assert model.explain_batch([]) == [] and len(model.explain_batch([sample_pictures()[0]])) == 1


def test_a_normalised_tensor_is_the_input_itself(model: LoadedModel, pixels: np.ndarray) -> None:
    picture = as_picture(pixels)
    inputs, _ = model.prepare(picture)
    expected = model.explain(picture)
    for form in (inputs, inputs[0]):
        found = model.explain(form, normalized=True)
        found = found[0] if isinstance(found, list) else found
        assert np.allclose(found.joint, expected.joint, rtol=1e-4, atol=1e-9)
        side = model.info.input.size
        assert found.picture.shape == (side, side, 3)
    with pytest.raises(PictureError, match="normalized=True takes a tensor"):
        model.explain(torch.zeros(3, 5, 5), normalized=True)
    with pytest.raises(PictureError, match="normalized=True takes a tensor"):
        model.explain(pixels, normalized=True)


def test_a_model_says_what_it_is_in_one_line(model: LoadedModel) -> None:
    assert "\n" not in repr(model) and "classes" in repr(model) and "calm-em" in repr(model)


def test_devices_are_taken_as_torch_names_them(tmp_path: Path) -> None:
    path = write_tiny_checkpoint(tmp_path / "tiny.safetensors")
    assert load_model(path, torch.device("cpu")).device == torch.device("cpu")
