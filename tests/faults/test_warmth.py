"""What the fork server prepares for some tests alone: planning does not wait for it, and no child pays for it."""

from tests.faults.harness import Lab, many


def test_planning_prepares_nothing(lab: Lab) -> None:
    lab.plan(*many("warm", 3))
    done = lab.run("--dry-run")
    assert done.code == 0, done.err
    assert done.document["planned"] == 3
    assert not (lab.state / "warmed").exists()


def test_what_some_tests_need_is_imported_once_by_the_fork_server_and_what_cannot_be_is_left_out(lab: Lab) -> None:
    lab.plan(*many("warm", 40))
    done = lab.run("-n", "2")
    assert done.code == 0, done.err
    assert lab.outcomes() == dict.fromkeys(many("warm", 40), "pass")
    assert len((lab.state / "warmed").read_text().split()) == 1


def test_tests_that_do_not_need_it_do_not_wait_for_it(lab: Lab) -> None:
    lab.plan(*many("pass", 3))
    assert lab.run("-n", "1").code == 0
    assert not (lab.state / "warmed").exists()
