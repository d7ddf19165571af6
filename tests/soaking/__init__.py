"""The soak test: hours of standbys under load, with faults; see tests/soak."""
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, '../../scripts/lib'), os.path.join(HERE, '../bats/lib')]
