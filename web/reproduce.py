"""The command that runs one test alone, safe to paste into a shell whatever the test is called."""

import shlex


def command(key: str, target: str, release: str) -> str:
    """`conformance repro …` for a test of a run."""
    words = ["conformance", "repro", key, "--target", target, "--release", release]
    return " ".join(shell_word(each) for each in words)


def shell_word(text: str) -> str:
    """The text as one word of bash; what cannot be seen is written as an escape, so that a copy is faithful."""
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(_escaped(each) for each in text) + "'"


def _escaped(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
