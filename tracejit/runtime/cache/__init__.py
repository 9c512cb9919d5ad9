"""The persistent cache: machine code of functions in files, for the processes that come after"""
