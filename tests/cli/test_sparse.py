"""Sparse rows from the command line: every verb knows them, and what is not theirs is refused."""

from pathlib import Path

import pytest

from shared.cli_sparse import (
    ANONYMIZE,
    run,  # noqa: F401 (fixtures)
)


@pytest.mark.parametrize(
    ("options", "result"),
    [
        (
            ("--method", "sparse", "--cluster-size", 5),
            "cluster_size (--cluster-size) is 5; expected a number",
        ),
        (("--method", "sparse", "--privacy-levels", "5"), "(--privacy-levels): only for the met"),
        (("--method", "sparse", "--l", 2), "l (--l): only for the methods predictive, k-corating"),
        (("--method", "sparse", "--values", "predicted"), "values (--values): only for the method"),
        (
            ("--method", "predictive", "--cluster-size", 20),
            "cluster_size (--cluster-size): only for the method sparse",
        ),
        (
            ("--method", "predictive", "--values", "predicted", "--homogenize", "simple"),
            "values (--values) is 'predicted', but",
        ),
    ],
)
def test_what_is_not_theirs_is_refused(run, options, result):
    code, _, err = run(*ANONYMIZE, *options)
    assert code == 2
    assert result in err
    assert not Path("out").exists()
