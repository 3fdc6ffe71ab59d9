"""The classes of a test file that are made for a device, told from its text."""

import pytest

from conformance.upstream import classes

PLAIN = "class TestA(TestCase):\n    pass\n\nclass TestB(TestCase):\n    pass\n\n"


@pytest.mark.parametrize(
    ("text", "plain", "custom"),
    [
        (PLAIN, (), ()),
        (PLAIN + "instantiate_device_type_tests(TestA, globals())\n", ("TestA",), ("TestA",)),
        (PLAIN + "instantiate_device_type_tests(\n    TestB, globals(), except_for='meta')\n", ("TestB",), ("TestB",)),
        (PLAIN + "common_device_type.instantiate_device_type_tests(TestA, globals())\n", ("TestA",), ("TestA",)),
        (PLAIN + "if CAN:\n    instantiate_device_type_tests(TestA, globals())\n", ("TestA",), ("TestA",)),
        (PLAIN + "instantiate_device_type_tests(TestA, globals(), only_for='cpu')\n", (), ()),
        (PLAIN + "instantiate_device_type_tests(TestA, globals(), only_for=('cuda',))\n", (), ()),
        (PLAIN + "instantiate_device_type_tests(TestA, globals(), only_for=('cpu', 'cuda'))\n", (), ("TestA",)),
        (PLAIN + "instantiate_device_type_tests(TestA, globals(), only_for=only_for)\n", (), ("TestA",)),
        (PLAIN + "instantiate_device_type_tests(TestA, globals(), only_for='privateuse1')\n", ("TestA",), ("TestA",)),
        (PLAIN + "    instantiate_device_type_tests(TestA, locals(), only_for=device)\n", (), ()),
        (PLAIN + "instantiate_device_type_tests(TestA, globals()\n", (), ()),
    ],
)
def test_classes_are_taken_as_pytorch_would_make_them_for_a_device_of_ones_own(
    text: str, plain: tuple[str, ...], custom: tuple[str, ...]
) -> None:
    found = classes.read(text)
    assert found.for_device(custom=False) == plain
    assert found.for_device(custom=True) == custom
    made = {each.name for each in found.made} if found.whole else set()
    assert set(found.for_others(custom=True)) == made - set(custom)


def test_classes_for_another_device_alone_are_told() -> None:
    calls = (("TestA", "('cpu', 'cuda')"), ("TestB", "'cuda'"))
    text = PLAIN + "".join(f"instantiate_device_type_tests({name}, globals(), only_for={to})\n" for name, to in calls)
    assert classes.read(text).for_others(custom=True) == ("TestB",)


def test_a_file_that_makes_classes_by_computed_names_is_taken_whole() -> None:
    found = classes.read(PLAIN + "for name in NAMES:\n    instantiate_device_type_tests(globals()[name], globals())\n")
    assert not found.whole
    assert found.for_device(custom=True) == ()


def test_where_classes_are_classified_by_hardware_those_of_accelerators_are_taken() -> None:
    kind = "    hw_classification = HardwareClassification."
    text = (
        f"class TestA(TestCase):\n{kind}ACCELERATOR\n\nclass TestB(TestCase):\n{kind}GENERIC\n\n"
        f"class TestC(TestCase):\n{kind}ACCELERATOR\n\ninstantiate_device_type_tests(TestA, globals())\n"
        "instantiate_device_type_tests(TestB, globals())\n"
    )
    assert classes.read(text).for_device(custom=False) == ("TestA", "TestC")
    assert dict(classes.read(text).reasons()) == {"TestA": "accelerator", "TestB": "generic", "TestC": "accelerator"}


def test_each_class_says_what_it_is_made_for() -> None:
    made = "instantiate_device_type_tests(TestA, globals(), only_for=('cpu', 'cuda'))\n"
    assert dict(classes.read(PLAIN + made).reasons()) == {"TestA": "cpu, cuda", "TestB": "no device"}
