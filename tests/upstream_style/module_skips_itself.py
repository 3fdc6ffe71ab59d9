"""An upstream-style file that skips itself while it is imported, as unittest does. Not collected by our pytest."""

import unittest

raise unittest.SkipTest("SciPy not found")
