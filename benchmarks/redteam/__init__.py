"""Attacks on priste and on its alternatives, by software that nobody here wrote."""
