"""One page that shows everything: source, stages, machine code and memory, linked by lines"""
