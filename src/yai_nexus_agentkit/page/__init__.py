"""The chat page: its React sources (``web/``), their build (``static/``), and the routes that serve it."""
