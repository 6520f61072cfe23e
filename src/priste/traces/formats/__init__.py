"""One file per format, one table of them all.

A format is one :class:`~priste.traces.formats.contract.TraceFormat` in the table of
:mod:`priste.traces.formats.known`: how it is recognised, read, rewritten and written. Everything
else (reading, writing, drafts, the command line) takes what it needs from there.
"""
