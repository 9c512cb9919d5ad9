"""Programs whose arrays lie on a device: launches instead of calls, copies, waits, round trips"""
