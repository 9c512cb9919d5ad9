"""NumPy's linear algebra on tracers: products, tensors, norms, determinants, einsum."""
