"""The paper's experiments, one file each, and what lies beyond them: ``tropicell lab NAME``."""

from tropicell.lab.experiments import EXPERIMENTS, experiment
from tropicell.lab.run import Experiment, Options, Run, run_experiment

__all__ = ["EXPERIMENTS", "Experiment", "Options", "Run", "experiment", "run_experiment"]
