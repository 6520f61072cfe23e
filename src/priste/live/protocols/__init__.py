"""One file per protocol, with a parser and a writer that know no sockets.

A parser takes device, time and position from a message, and nothing else. A message that it cannot
read raises :class:`~priste.live.protocols.fields.Unreadable`, whose text never repeats the message.
A writer makes a message of a released :class:`~priste.live.point.Point` from nothing but its public
numbers.
"""
