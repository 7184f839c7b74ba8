"""Where runs and threads are kept: in this process, or in a store that several workers share."""
