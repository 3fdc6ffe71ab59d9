"""An upstream-style file that cannot be imported. Not collected by our pytest."""

import a_package_that_is_nowhere  # noqa: F401
