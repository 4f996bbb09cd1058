"""Text that hardly ever repeats, as numbers: leading components of its character n-grams."""

from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline


def fit_text(texts: Any, n_components: int = 10) -> Pipeline | None:
    """Fit an encoder of texts to numbers, or return None if they have no n-grams.

    Distinct texts are sorted, so that neither the order of rows nor copies matter.
    """
    distinct = np.unique(np.asarray(texts, dtype=str))
    grams = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4), max_features=3000)
    try:
        weights = grams.fit_transform(distinct)
    except ValueError:  # an empty vocabulary
        return None
    most = min(weights.shape) - 1
    if most < 1:
        return None
    components = TruncatedSVD(min(n_components, most), random_state=0).fit(weights)
    return Pipeline([("n-grams", grams), ("components", components)])


def is_long(words: Any) -> bool:
    """Say whether cells are sentences, not names: four words or more on average."""
    return bool(words.dropna().str.count(r"\S+").mean() >= 4)
