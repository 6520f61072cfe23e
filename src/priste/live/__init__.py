"""A running service between the true location and the apps. It holds no mathematics.

Fixes come in through protocols that phones and receivers speak, one release per step of the
policy's clock goes out through protocols that apps speak. ``protocols`` read and write
messages and know no sockets; ``person_stream`` turns fixes into releases and knows no protocols;
``sources`` and ``sinks`` move bytes; ``service`` runs them together.
"""
