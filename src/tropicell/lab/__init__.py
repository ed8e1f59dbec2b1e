"""The paper's experiments, and training that runs many networks at once."""
