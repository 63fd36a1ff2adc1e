"""The C sources of the compiled library, and the module that loads it (`library`).

`scoring/` is the block scorer: it splits serialised HTML into blocks, computes their features and evaluates the trained
model; `links.c` resolves plain hrefs. Each of these is the only implementation of its job, so the library is required.
`sitelore_native.h` documents the interface.
"""
