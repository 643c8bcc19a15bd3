"""Users of one process in two tasks, in place of those of executors."""

from recveil.ratings import Ratings


def some_of(ratings, first, last):
    """Some users, one after the other."""
    own = slice(ratings.indptr[first], ratings.indptr[last])
    indptr = ratings.indptr[first : last + 1] - ratings.indptr[first]
    cells = ratings.indices[own], ratings.values[own]
    return Ratings(ratings.users[first:last], ratings.items, indptr, *cells, None, ratings.scale)


class UsersHere:
    """What is asked of `DistributedUsers`: sums, each task's added to the other's."""

    def __init__(self, ratings, cut=50):
        self.scale, self.n_items, self.n_users = ratings.scale, ratings.n_items, ratings.n_users
        self.tasks = [some_of(ratings, 0, cut), some_of(ratings, cut, ratings.n_users)]

    def add_up(self, sums, *known):
        return sum(sums(some, *known) for some in self.tasks)
