"""Files of the network that requests name, fetched within limits, and only from where a client may make a server go."""
