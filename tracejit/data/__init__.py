"""Input: batches of arrays, made ahead by threads and processes, and queues."""
