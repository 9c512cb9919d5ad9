"""Special functions: errors, gamma, Bessel, normal, logistic, entropies."""
