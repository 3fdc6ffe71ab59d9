"""Coverage and expectation files: what a backend does not claim, and what is known to fail. Entries match exactly."""

from conformance.expectations.chosen import Chosen as Chosen
from conformance.expectations.chosen import load as load
from conformance.expectations.chosen import of_file as of_file
from conformance.expectations.coverage import Coverage as Coverage
from conformance.expectations.entries import Entry as Entry
from conformance.expectations.files import today as today
