"""Pages of docs/evidence, made of measured figures and of the templates beside this file."""
