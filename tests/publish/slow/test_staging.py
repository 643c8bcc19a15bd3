"""What a run leaves, however it ends, and who may read and write it."""

from recveil.methods._sample import sample
from shared.publish_staging import model, modes, umask  # noqa: F401 (fixtures)


class TestModes:
    def test_neither_may_they_write_what_is_drawn(self, model, tmp_path, umask):
        umask(0)
        sample(model, tmp_path / "out", n_users=10, seed=1)
        found = modes(tmp_path)
        assert found.pop("out") == "0o755"
        assert set(found.values()) == {"0o644"}
