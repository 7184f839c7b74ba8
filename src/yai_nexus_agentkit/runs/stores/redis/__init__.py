"""A store in Redis, for any number of workers. Several steps that belong together are one script."""
