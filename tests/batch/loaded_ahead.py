"""What workers of a cluster need: loaded by the process that they are forked from."""

from priste.batch import cluster, engines

__all__ = ["cluster"]

engines.load()
