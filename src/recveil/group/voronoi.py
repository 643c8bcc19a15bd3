"""Voronoi leaves: rows cut into neighbourhoods of bounded size, without comparing all with all."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# More centres make rounder cells. The mean of some tens of rows is near enough to a cell's.
_MOST_CELLS = 256
_SAMPLED_ROWS_A_CELL = 32
_TILE = 4096  # rows whose products with all centres stay in the processor's cache


def voronoi_leaves(
    X: NDArray[np.float32], most: int, rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Part rows into neighbourhoods of at most `most` rows: the leaves of a Voronoi tree.

    A node with more rows than that draws some of them as centres, moves these by one step of
    Lloyd's algorithm on a sample, and gives each row to the nearest. The cells are strung on a
    chain, always on to the nearest cell left; neighbours on the chain that fit into one leaf become
    one node. A node that does not split (equal rows) is halved instead.

    Time is O(n log n) for data without extremes; memory is linear.

    Parameters
    ----------
    X : ndarray of float32, shape (n, d)
    most : int
        Precondition: at least 1.
    rng : Generator
        Draws the centres and the samples.

    Returns
    -------
    list of ndarray of int64
        The rows of each leaf; every row stands in exactly one. Neighbours in the list tend to be
        neighbours in space.

    Examples
    --------
    >>> X = np.array([[0], [9], [1], [8]], dtype=np.float32)
    >>> leaves = voronoi_leaves(X, 2, np.random.default_rng(0))
    >>> sorted(sorted(leaf.tolist()) for leaf in leaves)
    [[0, 2], [1, 3]]
    """
    leaves = []
    nodes = [np.arange(len(X))]
    while nodes:
        node = nodes.pop()
        if len(node) <= most:
            leaves.append(node)
        else:
            nodes.extend(reversed(_split(X, node, most, rng)))
    return leaves


def _split(
    X: NDArray[np.float32], node: NDArray[np.int64], most: int, rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    n_cells = min(_MOST_CELLS, len(node), -(-2 * len(node) // most))
    centres = _centres(X, node, n_cells, rng)
    chain = _chain(centres)
    cell = _nearest(X, node, centres[chain])
    sizes = np.bincount(cell, minlength=n_cells)
    if sizes.max() == len(node):
        return np.array_split(node, 2)
    # Numbers this small are sorted by radix, in linear time.
    in_order = node[np.argsort(cell.astype(np.uint16), kind="stable")]
    return np.split(in_order, _cuts(sizes, most))


def _centres(
    X: NDArray[np.float32], node: NDArray[np.int64], n_cells: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Draw rows as centres; move each to the mean of the sampled rows to which it is nearest."""
    n_sampled = min(len(node), n_cells * _SAMPLED_ROWS_A_CELL)
    sample = node[rng.choice(len(node), n_sampled, replace=False)]
    centres = X[sample[:n_cells]]
    is_in = np.zeros((n_cells, n_sampled), dtype=np.float32)
    is_in[_nearest(X, sample, centres), np.arange(n_sampled)] = 1
    sizes = is_in.sum(axis=1, keepdims=True)
    return np.where(sizes > 0, is_in @ X[sample] / np.maximum(sizes, 1), centres)


def _nearest(
    X: NDArray[np.float32], node: NDArray[np.int64], centres: NDArray[np.float32]
) -> NDArray[np.intp]:
    """Return the nearest centre to each row; of equally near ones, the first."""
    # |x - c|² is least where x · c - |c|² / 2 is greatest.
    half_squares = (centres**2).sum(axis=1) / 2
    nearest = np.empty(len(node), dtype=np.intp)
    for start in range(0, len(node), _TILE):
        tile = slice(start, start + _TILE)
        nearest[tile] = (X[node[tile]] @ centres.T - half_squares).argmax(axis=1)
    return nearest


def _chain(centres: NDArray[Any]) -> NDArray[np.intp]:
    """Order the centres so that each is followed by the nearest one left."""
    squares = (centres**2).sum(axis=1)
    gaps = squares[:, np.newaxis] + squares - 2 * centres @ centres.T
    chain = np.zeros(len(centres), dtype=np.intp)
    gaps[:, 0] = np.inf
    for at in range(1, len(centres)):
        chain[at] = gaps[chain[at - 1]].argmin()
        gaps[:, chain[at]] = np.inf
    return chain


def _cuts(sizes: NDArray[np.intp], most: int) -> list[int]:
    """Say where to cut the chain: after as many cells as fit into a leaf, or one that does not.

    Examples
    --------
    >>> _cuts(np.array([2, 1, 1, 9, 2, 3]), 4)
    [4, 13, 15]
    """
    cuts, start, end = [], 0, 0
    for size in sizes[sizes > 0].tolist():  # an empty cell is no leaf
        if end > start and end + size - start > most:
            cuts.append(end)
            start = end
        end += size
    return cuts
