"""Options of the command lines for what a file of another program doesn't say."""

import argparse
from typing import TYPE_CHECKING, get_args

from calm_gui.model.choices import Activation, AnsweredMethod, Outputs

if TYPE_CHECKING:
    from calm_gui.model.answers import Answers
    from calm_gui.model.loaded import LoadedModel

__all__ = ["add_answer_options", "answers_of", "give_hierarchy"]


def add_answer_options(parser: argparse.ArgumentParser) -> None:
    """Add the options whose values `answers_of` reads."""
    group = parser.add_argument_group(
        "what a file of another program doesn't say", "Answers are remembered for the file, by its hash."
    )
    add = group.add_argument
    add(
        "--kind",
        "--method",  # its name in version 0.1
        dest="method",
        type=_method,
        choices=get_args(AnsweredMethod),
        help="what the file is (in 0.1 --method, which still works)",
    )
    add("--saliency-activation", choices=get_args(Activation), help="of the saliency branch")
    switch = argparse.BooleanOptionalAction
    add("--large-feature-map", action=switch, help="28x28 cells at 224 pixels instead of 14x14")
    add("--classes", metavar="FILE", help="class names: a line each, JSON or CSV")
    add("--averaged", action=switch, help="the moving average of the weights (EMA, teacher), if the file has both")
    add("--outputs", choices=get_args(Outputs), help="what makes probabilities of the outputs")
    add("--hierarchy", metavar="FILE", help="groups of its classes: rows of child,parent, or JSON")
    add("--arch", metavar="NAME", help="the network: a name of timm's or torchvision's")


def _method(text: str) -> str:
    """Both spellings are in use: CALM_EM and calm-em."""
    return text.lower().replace("_", "-")


def give_hierarchy(options: argparse.Namespace, model: "LoadedModel") -> None:
    """Give a checkpoint the groups of --hierarchy; exports and batches keep the file's hash.

    Raises
    ------
    HierarchyError
        If they can't be read, or are groups of other classes.
    """
    if options.hierarchy:
        from calm_gui.model.files import sha256_of
        from calm_gui.model.hierarchy_file import read_hierarchy

        model.give_hierarchy(read_hierarchy(options.hierarchy, model.classes), said=sha256_of(options.hierarchy))


def answers_of(options: argparse.Namespace) -> "Answers":
    """The answers that a command line gives.

    Raises
    ------
    DataError
        If the class names can't be read.
    """
    from calm_gui.model.answers import Answers
    from calm_gui.model.class_names import read_class_names

    return Answers(
        options.method,
        options.saliency_activation,
        options.large_feature_map,
        read_class_names(options.classes) if options.classes else None,
        options.averaged,
        options.arch,
        options.outputs,
    )
