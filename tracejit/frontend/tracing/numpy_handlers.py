"""Which module handles what: drawn by `python -m tests.project.registries --write`."""

__all__ = ["HANDLERS_OF", "PRELUDE_OF", "SUBSCRIPTS_OF"]

#: Module of `tracejit.frontend.numpy` -> the functions that it handles.
HANDLERS_OF: dict[str, str] = {
    "calculus": ("gradient i0 sinc"),
    "creation": (
        "array asanyarray asarray ascontiguousarray asfortranarray copy empty empty_like full "
        "full_like ones ones_like zeros zeros_like"
    ),
    "grids": ("tril_indices triu_indices"),
    "items.masks": ("nonzero"),
    "join": ("concatenate"),
    "linalg.determinants": ("det slogdet"),
    "linalg.einsum": ("einsum"),
    "linalg.products": ("cholesky diagonal dot inv matmul matvec solve vecdot vecmat"),
    "padding": ("pad"),
    "queries": ("can_cast imag isscalar iterable ndim real result_type shape size"),
    "ranges": ("arange geomspace linspace logspace"),
    "rearrange": ("repeat roll take"),
    "reductions": (
        "all amax amin any argmax argmin count_nonzero cumprod cumsum max mean min prod std sum var"
    ),
    "selection": ("argsort around clip round sort where"),
    "shape": (
        "broadcast_arrays broadcast_to expand_dims matrix_transpose moveaxis ravel reshape "
        "squeeze swapaxes transpose"
    ),
    "stores": ("copyto place put putmask"),
    "windows": ("as_strided sliding_window_view"),
}

#: Module of `tracejit.frontend.prelude` -> the functions that it stands for.
PRELUDE_OF: dict[str, str] = {
    "calculus": ("cumulative_prod cumulative_sum diff ediff1d trapezoid unwrap"),
    "edits": ("asarray_chkfinite astype delete insert require resize"),
    "filters": (
        "convolve correlate scipy.signal._signaltools:convolve "
        "scipy.signal._signaltools:convolve2d scipy.signal._signaltools:correlate "
        "scipy.signal._signaltools:correlate2d"
    ),
    "grids": (
        "diag_indices diag_indices_from eye fftfreq identity indices ix_ meshgrid rfftfreq "
        "tri tril_indices_from triu_indices_from vander"
    ),
    "histograms": ("histogram histogram2d histogram_bin_edges histogramdd"),
    "joins": (
        "append atleast_1d atleast_2d atleast_3d block column_stack dstack hstack stack vstack"
    ),
    "linalg": ("matrix_power matrix_rank multi_dot pinv svdvals tensorinv tensorsolve"),
    "masked": (
        "ma.all ma.any ma.average ma.count ma.filled ma.getdata ma.getmask ma.isMaskedArray "
        "ma.is_masked ma.max ma.mean ma.median ma.min ma.prod ma.ptp ma.std ma.sum ma.var"
    ),
    "norms": ("cond matrix_norm norm vector_norm"),
    "picking": (
        "apply_along_axis apply_over_axes argwhere compress extract fill_diagonal flatnonzero "
        "piecewise put_along_axis ravel_multi_index select take_along_axis trim_zeros "
        "unravel_index"
    ),
    "polynomials": (
        "poly poly1d.__add__ poly1d.__call__ poly1d.__getitem__ poly1d.__len__ poly1d.__mul__ "
        "poly1d.__neg__ poly1d.__pos__ poly1d.__pow__ poly1d.__radd__ poly1d.__rmul__ "
        "poly1d.__rsub__ poly1d.__setitem__ poly1d.__sub__ poly1d.__truediv__ poly1d.coeffs "
        "poly1d.deriv poly1d.integ poly1d.order poly1d.roots polyadd polyder polydiv polyint "
        "polysub polyval"
    ),
    "products": (
        "cross diagonal inner kron matmul matrix_transpose outer tensordot trace vdot vecdot"
    ),
    "quantiles": ("nanpercentile nanquantile percentile quantile"),
    "queries": (
        "allclose angle array_equal array_equiv fix isclose iscomplex iscomplexobj isfortran "
        "isneginf isposinf isreal isrealobj nan_to_num real_if_close sort_complex"
    ),
    "rearranging": (
        "array_split diag diagflat dsplit fftshift flip fliplr flipud hsplit ifftshift "
        "rollaxis rot90 split tile tril triu unstack vsplit"
    ),
    "searching": ("bincount digitize interp lexsort searchsorted"),
    "sets": (
        "intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts "
        "unique_inverse unique_values"
    ),
    "statistics": (
        "average corrcoef cov median nanargmax nanargmin nancumprod nancumsum nanmax nanmean "
        "nanmedian nanmin nanprod nanstd nansum nanvar ptp"
    ),
    "transforms": ("fft2 fftn hfft ifft2 ifftn ihfft irfft2 irfftn rfft2 rfftn"),
    "vectorize": ("vectorize.__call__"),
    "windows": ("bartlett blackman hamming hanning kaiser"),
}

#: Module -> the classes of objects of which it makes items.
SUBSCRIPTS_OF: dict[str, str] = {
    "grids": ("CClass MGridClass OGridClass RClass"),
    "stores": ("TracedFlat"),
}
