"""Words in files that are written: releases, and tables that are converted."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.io import understand
from recveil.methods import anonymize
from recveil.publish import convert
from recveil.publish.release import ReleaseFolder
from recveil.ratings import RatingScale

WORDS = ("hate", "dislike", "like", "love")
SCALE = RatingScale.of_labels(WORDS)


class TestReadingBack:
    def test_rows_hold_words_and_matrices_their_places(self, words_made):
        release = ReleaseFolder(words_made / "simple")
        table = release.to_arrow(per_user=True)
        assert table.schema.field("rating").type == pa.string()
        matrix = release.to_csr(per_user=True)
        assert [WORDS[int(at) - 1] for at in matrix.data] == table["rating"].to_pylist()

    def test_numbers_of_words_without_an_order_are_called_names(self, words, tmp_path):
        unordered = words.with_scale(RatingScale.of_labels(WORDS, ordered=False))
        anonymize(unordered, tmp_path / "out", k=5, method="nominal", seed=1)
        with pytest.warns(
            UserWarning, match=r"numbers \(1 is hate, 2 is dislike, .*do not calculate"
        ):
            ReleaseFolder(tmp_path / "out").to_csr()

    @pytest.mark.parametrize("target", ["out.csv", "out.parquet", "out.inter", "out.csv.gz"])
    def test_what_is_converted_comes_back(self, words_made, words, tmp_path, target):
        convert(words_made / "simple", tmp_path / target)
        found = understand(tmp_path / target, scale=SCALE).ratings
        assert found.n_ratings == ReleaseFolder(words_made / "simple").to_csr(per_user=True).nnz
        convert(words, tmp_path / f"raw-{target}")
        assert understand(tmp_path / f"raw-{target}", scale=SCALE).ratings == words

    def test_folders_of_other_libraries(self, words, tmp_path):
        convert(words, tmp_path / "lk", target_format="lenskit")
        assert set(pq.read_table(tmp_path / "lk" / "rating.parquet")["rating"].to_pylist()) <= set(
            WORDS
        )
        convert(words, tmp_path / "rb", target_format="recbole")
        header = (tmp_path / "rb" / "rb.inter").read_text().splitlines()[0]
        assert header.split("\t")[:3] == ["user_id:token", "item_id:token", "rating:token"]
        with raises("table.kind", "hate"):
            convert(words, tmp_path / "out.txt", target_format="surprise")
