"""The paper's evaluation, made again: every figure and table, one command.

:func:`reproduce` runs experiments of the catalogue, on all cores and resumably, and writes
tables, figures, the settings that made them, and one page that shows it all.
"""
