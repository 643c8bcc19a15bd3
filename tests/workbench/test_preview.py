from error_assertions import raises
from recveil.release.claim import claim_kind
from recveil.workbench.preview import describe_visible


def test_users_who_are_alone_are_reported():
    assert "One user alone" in describe_visible(claim_kind("identical-rows"), 1)
    assert "One user alone" in describe_visible(claim_kind("co-rated"), 1)


def test_a_cluster_that_was_not_counted_is_no_cluster():
    with raises("release.damaged"):
        describe_visible(claim_kind("identical-rows"), None)
