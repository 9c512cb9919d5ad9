"""Keys of items of arrays: masks, indices and elements of slices."""
