"""A program cut into pieces means what it meant whole"""
