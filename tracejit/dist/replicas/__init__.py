"""Replicas of a training step: the same program on several processes, each on its own data"""
