"""The paper's experiments, one file each, and what lies beyond them: ``tropicell lab NAME``.

`experiments`       the table of experiments
`run`               runs one: its settings, results, report
`fig1`              the walkthrough: how one region comes about neuron by neuron
`fig2`              all regions of networks that learnt four functions
`fig3`              regions and loss during training, with and without skip connections
`fig4`              test images in regions that also hold a training image
`table1`            counts with and without skip connections
`table2`            predictions from a cache
`readings`          which reading of the first table fits its numbers
`overfitting`       do networks with more regions overfit; underfitting, depth, folding
`regions784`        beyond the paper: every region of the smallest classifiers of `table2`
`skips`             beyond the paper: what skip connections do to the number of regions
`skips_report`      what the tables of `skips` show, in words
`skips_figures`     and in pictures
`custom`            the same for a model of your own
`training`          trains many networks of one shape at once
`trained`           trained networks, kept
`data`              data sets, from disk or their public addresses
`functions`         the four functions that the paper's networks learn
`random_networks`   networks as PyTorch initialises them
`skip_sets`         sets of skip connections
`statistics`        tests and intervals
`texts`             numbers in reports, and pictures

May import every room but `cli`.
"""

from tropicell.lab.experiments import EXPERIMENTS, experiment
from tropicell.lab.run import Experiment, run_experiment
from tropicell.lab.run import LabOptions as Options
from tropicell.lab.run import LabRun as Run

__all__ = ["EXPERIMENTS", "Experiment", "Options", "Run", "experiment", "run_experiment"]
