"""The installed torch's aten overloads as a second denominator: what serves each, and which tests reached it."""

from conformance.inventory import documents
from conformance.inventory.counting import Group, Inventory, Reaching, of_folder, read, tally
from conformance.inventory.overloads import Overloads, Registration, Tells
from conformance.inventory.statuses import Evidence, Status, status_of

__all__ = [
    "Evidence",
    "Group",
    "Inventory",
    "Overloads",
    "Reaching",
    "Registration",
    "Status",
    "Tells",
    "documents",
    "of_folder",
    "read",
    "status_of",
    "tally",
]
