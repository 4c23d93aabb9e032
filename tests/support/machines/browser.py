"""Where a browser of Chromium's kind is, if there is one."""

from __future__ import annotations

import os
import shutil

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def known_browser() -> str | None:
    """$QLOWER_BROWSER, or one that the system has; None without any."""
    return os.environ.get("QLOWER_BROWSER") or next(
        (path for name in _NAMES if (path := shutil.which(name))), None
    )
