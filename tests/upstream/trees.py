"""Small PyTorch source trees of our own, as folders and as git repositories to fetch from."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

FILES: Mapping[str, str] = {
    "version.txt": "2.13.0a0\n",
    "test/test_ops.py": "NUMBER = 1\n",
    "test/functorch/test_ops.py": "NUMBER = 2\n",
    "tools/testing/discover.py": "NUMBER = 3\n",
    "torch/__init__.py": "raise ImportError('the source tree, not the installed torch')\n",
}


def git(root: Path, *arguments: str) -> str:
    """Run git as nobody in particular."""
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.com", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", "-C", str(root), *who, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def folder(root: Path, files: Mapping[str, str] = FILES) -> Path:
    """A plain folder."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def repository(root: Path, files: Mapping[str, str] = FILES, tag: str = "v2.13.0") -> str:
    """A git repository that may be fetched from in parts; its commit, which has the tag."""
    folder(root, files)
    git(root, "init", "-q")
    git(root, "config", "uploadpack.allowFilter", "true")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    if tag:
        git(root, "tag", tag)
    return git(root, "rev-parse", "HEAD")
