"""One hypothesis profile: the same examples every time, so that a failure is a change's own.

``HYPOTHESIS_PROFILE=explore`` draws new and more ones.
"""

import os

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=60)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
