"""`fivefold card`: the card of a model file; the model itself is not built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fivefold.cli.options import JSON_OPTION, MODEL_ARGUMENT, Console, refuse, show_json


def card(
    model: MODEL_ARGUMENT,
    as_json: JSON_OPTION = False,
) -> None:
    """Show what is in a model file: method, columns, preparation, scores, versions.

    Its hash detects damage; it is not a signature and does not tell who wrote the file.
    """
    from fivefold.study.models.model_file import describe_model
    from fivefold.study.tables.table import BadInput

    try:
        about = describe_model(model)
        text = card_text(about)
    except BadInput as error:
        refuse(str(error))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        refuse(f"{model}: its card is not one that fivefold writes ({type(error).__name__}: {error})")
    if as_json:
        show_json(about)
    else:
        Console(highlight=False, markup=False, soft_wrap=True).print(text)


def card_text(about: Mapping[str, Any]) -> str:
    """A model card as text."""
    card, schema = about["card"], about["schema"]
    data, kinds = card.get("data", {}), [column["kind"] for column in schema["columns"]]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    chosen = ", ".join(f"{name}={value!r}" for name, value in card.get("chosen", {}).items()) or "defaults"
    lines = [
        f"{card.get('method')}, {schema['task']} of {schema['target']!r}",
        *([f"  classes    {', '.join(schema['classes'])}"] if schema["classes"] else []),
        *(["  decides    by least expected cost"] if card.get("costs") else []),
        f"  settings   {chosen}",
        f"  columns    {counts}",
        f"  fitted on  {data.get('rows_fitted', 0):,} of {data.get('rows', 0):,} rows of {data.get('name')}",
        "Preparation of the columns, learned from the rows it was fitted on",
        *(f"  {line}" for line in card.get("treatment", ())),
        f"Scores, {card.get('judged')}",
        *(f"  {name:<18} {_format_interval(found)}" for name, found in card.get("scores", {}).items()),
        *_certificate_text(card.get("holdout"), card.get("folds")),
        *([f"  {card['refit']}"] if card.get("refit") else []),
        "Versions  " + ", ".join(f"{name} {text}" for name, text in card.get("versions", {}).items()),
    ]
    return "\n".join(lines)


def _format_interval(found: Mapping[str, float | None]) -> str:
    mean, low, high = (float("nan") if found[key] is None else found[key] for key in ("mean", "low", "high"))
    return f"{mean:.4g} in [{low:.4g}, {high:.4g}]"


def _certificate_text(holdout: Mapping[str, Any] | None, folds: Mapping[str, Any] | None) -> list[str]:
    said = []
    if folds is not None and folds["bound"] < 1:
        said.append(
            f"Models of the folds, one drawn at random: share of wrong classes on new rows below {folds['bound']:.4g} "
            f"with probability {1 - folds['delta']:g}, choice among {folds['learners']} learners included"
        )
    if holdout is None:
        return said or ["No hold-out certifies this model"]
    scores = ", ".join(f"{name} {value:.4g}" for name, value in holdout["scores"].items() if value is not None)
    lines = [f"Hold-out of {holdout['rows']:,} rows, opened once: {scores}"]
    if certificate := holdout.get("certificate"):
        sure = 1 - certificate["delta"]
        lines.append(f"  share of wrong classes on new rows below {certificate['bound']:.4g} with probability {sure:g}")
    return lines + said
