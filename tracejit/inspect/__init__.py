"""Looking inside: the stages of a compile, with their places in the source, as data"""
