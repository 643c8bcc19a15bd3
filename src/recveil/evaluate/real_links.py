"""Links: how sure a release makes it that somebody rated an item, the real shares being known."""

import numpy as np
from scipy import sparse

from recveil.attack import ReleasedTable
from recveil.ratings import Ratings
from recveil.verify.link_posterior import LinkPosterior, links_of_rows


def link_disclosure(ratings: Ratings, table: ReleasedTable) -> LinkPosterior:
    """Return the posteriors of a release's links, with each item's real share of raters as p.

    Parameters
    ----------
    ratings : Ratings
        The ratings that were released; they tell p.
    table : ReleasedTable

    Notes
    -----
    Source: Chang et al., Theorems 6.2 and 6.3. `recveil.verify.verify` estimates p from the
    published rows instead. Rows that were padded, or hold items added for diversity, tell less
    than this.

    Examples
    --------
    >>> from recveil.anonymize import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
    >>> release = PredictiveAnonymizer(k=5, homogenize="simple", seed=1).anonymize(ratings)
    >>> links = link_disclosure(ratings, ReleasedTable.from_release(release, ratings))
    >>> bool(1 / 9 < links.mean < links.highest <= 1)
    True
    """
    shape = (table.indptr.size - 1, ratings.n_items)
    held = np.ones(table.indices.size, np.int8)
    support = sparse.csr_array((held, table.indices, table.indptr), shape=shape)
    return links_of_rows(support, table.candidates.sizes, ratings.support / ratings.n_users)
