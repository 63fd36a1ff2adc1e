"""PDF and office files → plain HTML, which then goes the way of every page. Bounded: a file is a stranger's.

`reading` knows which file is which; each format has a module of its own, and `flow` is the text they all write.
"""
