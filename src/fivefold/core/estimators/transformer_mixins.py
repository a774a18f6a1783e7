"""What transformers share, whichever kind of estimator they are besides."""

from __future__ import annotations

from fivefold.core._sklearn import ClassNamePrefixFeaturesOutMixin, Tags, TransformerMixin
from fivefold.core.types import Labels


class FloatTransformerMixin(TransformerMixin):
    """A transformer whose result has the precision of the table it is given, float64 or float32."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class ClassAxesMixin(ClassNamePrefixFeaturesOutMixin, FloatTransformerMixin):
    """A classifier that also projects rows onto the directions that separate its K classes, K - 1 at most."""

    n_components: int | None
    classes_: Labels

    def _max_components(self, d: int) -> int:
        """The number of directions that exist in d columns; refuses n_components above it."""
        maximum = min(len(self.classes_) - 1, d)
        if self.n_components is not None and self.n_components > maximum:
            raise ValueError(
                f"{type(self).__name__}: n_components={self.n_components} cannot be larger than "
                f"min(n_features, n_classes - 1) = {maximum}"
            )
        return maximum
