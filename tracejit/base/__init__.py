"""The ground: locks, late tables and names that everything else rests on, and no compiler."""
