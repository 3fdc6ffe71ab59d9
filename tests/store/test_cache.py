"""Vectors are read once, kept up to a number of bytes, and the least used goes first."""

import threading

from conformance.store.store import Cache


def test_a_value_is_made_once_and_the_least_used_goes_when_there_are_too_many_bytes() -> None:
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name

    kept = Cache(largest=20)
    for name in ("a", "b", "a", "c", "a", "b"):
        assert kept.get(name, lambda name=name: make(name), lambda _: 10) == name  # type: ignore[misc]
    assert made == ["a", "b", "c", "b"]


def test_something_larger_than_the_whole_cache_is_still_answered() -> None:
    kept = Cache(largest=5)
    assert kept.get("a", lambda: "x", lambda _: 100) == "x"
    assert kept.get("b", lambda: "y", lambda _: 100) == "y"


def test_many_threads_get_the_same_answers() -> None:
    kept = Cache(largest=50)
    wrong: list[int] = []

    def ask() -> None:
        for number in range(400):
            key = number % 9
            if kept.get(key, lambda key=key: key * 7, lambda _: 10) != key * 7:  # type: ignore[misc]
                wrong.append(number)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong
