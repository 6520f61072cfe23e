"""Pages of docs/evidence, made of measured figures and of the templates next to this file."""
