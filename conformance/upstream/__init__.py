"""PyTorch's own test files: a checkout of them, and which of them a backend runs. Imports neither torch nor pytest."""

from conformance.upstream.installed import Torch as Torch
from conformance.upstream.installed import installed as installed
from conformance.upstream.tree import Tree as Tree
