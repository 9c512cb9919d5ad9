"""Which module has which ops: drawn by `python -m tests.project.registries --write`."""

__all__ = ["ELSEWHERE_OF", "OPS_OF", "UFUNCS_OF"]

#: Module of `tracejit.ops` -> the names of its ops.
OPS_OF: dict[str, str] = {
    "array.barriers": ("derived_as optimization_barrier stop_gradient"),
    "array.complex_parts": ("imag make_complex real"),
    "array.contraction": ("contract"),
    "array.creation": ("bind_size constant dim_value iota"),
    "array.elementwise": (
        "absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and "
        "bitwise_count bitwise_or bitwise_xor cast cbrt ceil conjugate copysign cos cosh "
        "deg2rad divide equal exp exp2 expm1 float_power floor floor_divide fmax fmin fmod "
        "gcd greater greater_equal heaviside hypot invert isfinite isinf isnan lcm left_shift "
        "less less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not "
        "logical_or logical_xor maximum minimum multiply negative nextafter not_equal "
        "positive power rad2deg reciprocal remainder right_shift rint select sign signbit sin "
        "sinh spacing sqrt square subtract tan tanh trunc"
    ),
    "array.exponents": ("frexp_exponent frexp_mantissa ldexp modf_fraction"),
    "array.factored": ("factored_diagonal factored_inverse factored_solve lu_factor"),
    "array.indexing": ("gather scatter update_slice"),
    "array.items": ("read_item write_item"),
    "array.linalg": ("cholesky inv lu_diagonal matmul matmul_both solve"),
    "array.masks": ("compress true_positions"),
    "array.no_nan": (
        "divide_no_nan divide_no_nan_term multiply_no_nan multiply_no_nan_term product_no_nan "
        "product_no_nan_term"
    ),
    "array.numpy_formulas": ("fused_absolute fused_multiply scaled_absolute uniform_power"),
    "array.numpy_loops": ("numpy_log10 numpy_power"),
    "array.reduction": (
        "argmax argmin reduce_all reduce_any reduce_max reduce_min reduce_prod reduce_sum"
    ),
    "array.root_of_squares": ("root_of_squares"),
    "array.scan": ("cumprod cumsum linear_recurrence"),
    "array.scatter_apply": ("scatter_apply"),
    "array.shape": ("broadcast_to concatenate element reshape slice transpose"),
    "array.sorting": ("argsort sort"),
    "array.triangular": ("triangular_solve"),
    "control.calls": ("custom remat"),
    "control.dataflow": ("enter exit loop_cond merge next_iteration switch"),
    "control.effects": ("check print_text raise_error start_token undefined"),
    "control.parallel": ("parallel_loop"),
    "control.recursion": ("recurse recursive_call"),
    "control.regions": ("cond fusion while_loop"),
    "control.stack": ("stack_new stack_pop stack_push"),
    "host.call": ("host_call"),
    "host.determinant": ("determinant"),
    "host.exchange": ("host_exchange"),
    "host.random": ("host_draw"),
    "host.special": (
        "entr erf erfc erfcinv erfcx erfinv expit gamma gammaln i0 i0e i1 i1e j0 j1 kl_div "
        "log_expit log_ndtr logit ndtr ndtri psi rel_entr sinc xlog1py xlogy y0 y1"
    ),
    "host.transfer": ("recv send"),
    "python.arithmetic": (
        "py_abs py_add py_floordiv py_mod py_multiply py_negative py_power py_subtract py_truediv"
    ),
    "python.bits": ("py_bit_and py_bit_or py_bit_xor py_invert py_lshift py_rshift"),
    "python.comparisons": (
        "py_and py_equal py_greater py_greater_equal py_less py_less_equal py_not "
        "py_not_equal py_or"
    ),
    "python.complex": ("py_complex py_complex_power py_conjugate py_imag py_real"),
    "python.conversion": ("np_scalar py_scalar"),
    "python.integers": ("py_bit_count py_bit_length py_gcd py_int_power py_isqrt"),
    "python.math": (
        "py_acos py_acosh py_asin py_asinh py_atan py_atan2 py_atanh py_cbrt py_copysign "
        "py_cos py_cosh py_degrees py_erf py_erfc py_exp py_exp2 py_expm1 py_fabs py_fmod "
        "py_hypot py_isfinite py_isinf py_isnan py_log py_log10 py_log1p py_log2 py_nextafter "
        "py_pow py_radians py_sin py_sinh py_sqrt py_tan py_tanh"
    ),
    "python.rounding": ("py_ceil py_floor py_is_integer py_round py_round_to py_trunc"),
}

#: Module but for `array.elementwise` -> the ufuncs that its ops mean.
UFUNCS_OF: dict[str, str] = {
    "array.exponents": ("ldexp"),
}

#: Module -> the ufuncs of other libraries that its ops mean.
ELSEWHERE_OF: dict[str, str] = {
    "host.special": (
        "entr erf erfc erfcinv erfcx erfinv expit gamma gammaln i0 i0e i1 i1e j0 j1 kl_div "
        "log_expit log_ndtr logit ndtr ndtri psi rel_entr xlog1py xlogy y0 y1"
    ),
}
