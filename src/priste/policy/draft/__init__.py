"""The policy that `priste init` and the studio begin with.

Nothing in a draft may depend on what its events guard. So the traces are read with the guarded
windows removed before anything is computed from them.
"""
