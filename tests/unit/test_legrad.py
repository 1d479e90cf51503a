"""LeGrad against a second, slow writing straight from its definition, with attention as a matrix of its own."""

import numpy as np
import pytest
import torch
from synthetic import SAMPLE
from test_methods_of_torchcam import between_extremes
from torch import Tensor, nn
from torch.nn import functional

import calm_gui
from calm_gui.core.classes import ClassSet
from calm_gui.errors import ReadingError
from calm_gui.methods import METHODS, attribute
from calm_gui.model.loaded import LoadedModel
from calm_gui.model.picture import load_picture

CLASSES = ("a", "b", "c", "d", "e")
TARGET = ClassSet([1, 3])
HEADS, PATCH, SIZE, WIDTH, DEPTH = 2, 8, 32, 16, 3


def of_torchvision() -> nn.Module:
    from torchvision.models import VisionTransformer

    return VisionTransformer(SIZE, PATCH, DEPTH, HEADS, WIDTH, 2 * WIDTH, num_classes=len(CLASSES))


def of_timm(**options: object) -> nn.Module:
    from timm.models.vision_transformer import VisionTransformer

    return VisionTransformer(
        SIZE, PATCH, num_classes=len(CLASSES), embed_dim=WIDTH, depth=DEPTH, num_heads=HEADS, **options
    )


NETWORKS = {
    "torchvision": of_torchvision,
    "timm": of_timm,
    "timm, registers": lambda: of_timm(reg_tokens=4),
    "timm, mean of patches": lambda: of_timm(global_pool="avg"),
    "timm, norms within": lambda: of_timm(qk_norm=True, scale_attn_norm=True, init_values=0.5),
}


def drawn_anew(network: nn.Module) -> nn.Module:
    """With weights large enough that attention differs from place to place."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for weights in network.parameters():
            weights.add_(torch.randn(weights.shape, generator=generator) * 0.3)
    return network.eval()


@pytest.fixture(scope="module", params=NETWORKS)
def model(request: pytest.FixtureRequest) -> LoadedModel:
    from calm_gui.model.info import InputSpec

    network = drawn_anew(NETWORKS[request.param]())
    return calm_gui.from_module(network, classes=list(CLASSES), input=InputSpec(SIZE), device="cpu")


def network_of(model: LoadedModel) -> nn.Module:
    return next(m for m in model.network.modules() if type(m).__name__ == "VisionTransformer")


def first_tokens(network: nn.Module, inputs: Tensor) -> Tensor:
    if hasattr(network, "encoder"):
        tokens = torch.cat([network.class_token, network._process_input(inputs)], dim=1)
        return (tokens + network.encoder.pos_embedding)[0]
    return network.norm_pre(network._pos_embed(network.patch_embed(inputs)))[0]


def attention_of(block: nn.Module, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """A (heads,N,N) and V (heads,N,d) of a block."""
    if hasattr(block, "self_attention"):
        attention, tokens = block.self_attention, block.ln_1(tokens)
        q, k, v = functional.linear(tokens, attention.in_proj_weight, attention.in_proj_bias).chunk(3, dim=-1)
        q, k, v = (x.reshape(-1, HEADS, WIDTH // HEADS).transpose(0, 1) for x in (q, k, v))
    else:
        attention, tokens = block.attn, block.norm1(tokens)
        q, k, v = attention.qkv(tokens).chunk(3, dim=-1)
        q, k, v = (x.reshape(-1, HEADS, WIDTH // HEADS).transpose(0, 1) for x in (q, k, v))
        q, k = attention.q_norm(q), attention.k_norm(k)
    return torch.softmax(q @ k.transpose(1, 2) / (WIDTH // HEADS) ** 0.5, dim=-1), v


def block_of(block: nn.Module, tokens: Tensor, attention: Tensor, values: Tensor) -> Tensor:
    """What a block makes of tokens with an attention that is given."""
    mixed = (attention @ values).transpose(0, 1).reshape(len(tokens), -1)
    if hasattr(block, "self_attention"):
        tokens = tokens + block.self_attention.out_proj(mixed)
        return tokens + block.mlp(block.ln_2(tokens))
    tokens = tokens + block.ls1(block.attn.proj(block.attn.norm(mixed)))
    return tokens + block.ls2(block.mlp(block.norm2(tokens)))


def score_of(network: nn.Module, tokens: Tensor) -> Tensor:
    """log p(A) of a block's tokens: the network's own end behind their mean."""
    mean = tokens.mean(0)
    if hasattr(network, "encoder"):
        logits = network.heads(network.encoder.ln(mean))
    else:
        logits = network.head(network.fc_norm(network.norm(mean)))
    return torch.logsumexp(torch.log_softmax(logits, 0)[list(TARGET)], 0)


def test_legrad_by_its_definition(model):
    network = network_of(model)
    tokens = first_tokens(network, model.prepare(load_picture(SAMPLE))[0]).detach()
    blocks = network.encoder.layers if hasattr(network, "encoder") else network.blocks
    prefix, total = len(tokens) - (SIZE // PATCH) ** 2, torch.zeros(len(tokens))
    for block in blocks:
        attention, values = attention_of(block, tokens)
        attention, values = attention.detach().requires_grad_(True), values.detach()
        after = block_of(block, tokens, attention, values)
        (slope,) = torch.autograd.grad(score_of(network, after), attention)
        for head in range(HEADS):
            for i in range(len(tokens)):
                total += slope[head, i].clamp(min=0) / (HEADS * len(tokens) * len(blocks))
        tokens = after.detach()
    expected = total[prefix:].reshape(SIZE // PATCH, SIZE // PATCH)
    shown = attribute("legrad", model, SAMPLE, TARGET)
    assert shown.values.max() == 1 and expected.std() > 0
    np.testing.assert_allclose(shown.values, between_extremes(expected), atol=1e-4)


def test_legrad_leaves_the_network_as_it_was(model):
    before = model.explain(SAMPLE).class_probabilities
    passes: list[int] = []
    first, second = (attribute("legrad", model, SAMPLE, TARGET, lambda number, of: passes.append(of)) for _ in range(2))
    np.testing.assert_array_equal(first.values, second.values)
    assert passes == [1, 1]
    np.testing.assert_array_equal(model.explain(SAMPLE).class_probabilities, before)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.network.modules())


def test_a_calm_over_a_vit_has_legrad_through_its_own_head(tmp_path):
    from tiny_checkpoint import write_tiny_checkpoint

    from calm_gui.model.loaded import load_model

    file = write_tiny_checkpoint(tmp_path / "x.safetensors", "calm-em", backbone="timm:test_vit")
    shown = attribute("legrad", load_model(file, "cpu"), SAMPLE, TARGET)
    assert shown.values.max() == 1 and shown.values.shape == shown.explanation.geometry.grid


def test_networks_without_the_usual_attention_are_refused():
    from calm_training.evaluate.maps import map_of

    model = calm_gui.load_checkpoint("demo", device="cpu")
    assert not map_of("legrad").fits(model)
    with pytest.raises(ReadingError, match="LeGrad needs a vision transformer"):
        attribute("legrad", model, SAMPLE, TARGET)
    assert METHODS["legrad"].refusal(of_timm(global_pool="map"))
    assert not METHODS["legrad"].refusal(of_timm())
