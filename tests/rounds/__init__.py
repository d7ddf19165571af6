"""The fault campaign: rounds of recovery with random faults; see tests/campaign."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '../../scripts/lib'))
