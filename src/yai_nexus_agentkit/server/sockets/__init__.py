"""Web sockets of an agent: the handshake, the frames of many requests, and who is connected."""
