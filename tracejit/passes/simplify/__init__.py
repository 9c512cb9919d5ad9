"""Local rewrites: constants, algebra, common and dead nodes."""
