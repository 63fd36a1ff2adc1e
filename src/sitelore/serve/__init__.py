"""The house over HTTP.

A request passes the doors (`doors`: host, origin, token, size), is judged (`asking` turns a body into settings, `problems`
says what is wrong as RFC 9457 has it) and answered by a route: `quick` and `runs` are the planes of the contract,
`operations` is for whoever keeps the server alive. `wire` holds the shapes of all answers; they are encoded by msgspec, and
`openapi` describes them from the same types, so that the description cannot drift. `desk` is what all routes ask; it shares
one look at the ledger between everyone who asks for the same thing at the same time. `streams` and `follow` send what is
too long, or too slow, for one answer. `app` puts it together, `server` runs it on a socket of `sockets` until it is told to
stop; `exposing` answers for workers, which have nothing but metrics to tell.

Nothing is crawled and nothing is stored here: who works on runs is behind `backstage`, which `cli` fills in with the house
that `deploy` built. A body is untrusted: no field of it names a file, a command, code or an address the guard refuses.
"""
