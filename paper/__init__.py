"""The paper's evaluation, made again: every figure and table by one command, ``make reproduce``.

:func:`paper.reproduction.reproduce` runs experiments of the catalogue on all cores. A run that was
stopped is continued. It writes tables, figures, the settings that made them, and one page. This
package is not in the wheel, and nothing in ``src`` imports it.
"""
