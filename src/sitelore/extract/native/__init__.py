"""The compiled part of the room, as C sources beside the library that is built of them, and the way to it.

What each function computes is written in Python as well, in the module that calls it: without a compiler everything works, at
more cost, and tests hold both to the same bytes.
"""
