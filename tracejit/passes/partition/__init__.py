"""A program cut into one for each device, whose parts send each other what they compute"""
