"""What pyproject.toml can't say: README as the description on package indexes.

Links to files of the repository lead nowhere there: they become text, and pictures
of the repository are left out.
"""

import re
from pathlib import Path

from setuptools import setup

readme = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
readme = re.sub(r"!\[[^]]*\]\((?!https?:)[^)]*\)\n*", "", readme)
readme = re.sub(r"\[([^]]*)\]\((?!https?:|#)[^)]*\)", r"\1", readme)

setup(long_description=readme, long_description_content_type="text/markdown")
