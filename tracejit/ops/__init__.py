"""The ops. Importing the package announces them to the registry `tracejit.ir.op.OPS`.

The module of an op is imported when the op is looked up.
"""

from tracejit.ir.op import OPS

OPS.announce("ops")
