"""The cheapest remap: the linear programmes, exact and for larger maps, and their calibrator."""
