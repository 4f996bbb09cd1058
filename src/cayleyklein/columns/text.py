"""Text that hardly ever repeats, as numbers: leading components of its character n-grams."""

from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline

LONG_TEXT = 4  # mean number of words in a cell from which text says something
N_GRAMS, MOST_N_GRAMS = (3, 4), 3000
COMPONENTS = 10  # numbers that a column becomes


def fit_text(texts: Any) -> Pipeline | None:
    """Fit an encoder of texts, or return None if they have no n-grams.

    Distinct texts are sorted, so that neither the order of rows nor copies matter.
    """
    distinct = np.unique(np.asarray(texts, dtype=str))
    grams = TfidfVectorizer(analyzer="char_wb", ngram_range=N_GRAMS, max_features=MOST_N_GRAMS)
    try:
        weights = grams.fit_transform(distinct)
    except ValueError:  # an empty vocabulary
        return None
    most = min(weights.shape) - 1
    if most < 1:
        return None
    components = TruncatedSVD(min(COMPONENTS, most), random_state=0).fit(weights)
    return Pipeline([("n-grams", grams), ("components", components)])


def is_long(words: Any) -> bool:
    """Say whether cells are sentences, not names."""
    return bool(words.dropna().str.count(r"\S+").mean() >= LONG_TEXT)
