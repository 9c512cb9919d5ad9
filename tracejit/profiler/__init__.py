"""Profiles: where the time of compiled functions goes, by source line and by kernel"""

from tracejit.profiler.measured import KernelTime, LineTime
from tracejit.profiler.profile import Profile, profile, profile_call

__all__ = ["KernelTime", "LineTime", "Profile", "profile", "profile_call"]
