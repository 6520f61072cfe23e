"""priste: keep what people did, where and when, deniable while they use location services."""
