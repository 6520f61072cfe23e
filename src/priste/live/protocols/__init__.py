"""One file per protocol, with a parser and a writer that know no sockets.

A parser takes from a message who, when and where, and nothing else; whatever it cannot read is
:class:`~priste.live.protocols.fields.Unreadable`, whose text never repeats the message. A writer
makes a message of a released :class:`~priste.live.point.Point` from nothing but its public numbers.
"""
