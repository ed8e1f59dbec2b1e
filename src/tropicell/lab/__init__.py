"""The paper's experiments, one file each, and what lies beyond them: ``tropicell lab NAME``.

`run` starts an experiment, stores its results and writes its report; `training` trains the
networks, `data` gets the data sets, `statistics` judges. May import every room but `cli`.
"""

from tropicell.lab.experiments import EXPERIMENTS, experiment
from tropicell.lab.run import Experiment, run_experiment
from tropicell.lab.run import LabOptions as Options
from tropicell.lab.run import LabRun as Run

__all__ = ["EXPERIMENTS", "Experiment", "Options", "Run", "experiment", "run_experiment"]
