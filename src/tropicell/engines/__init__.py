"""What finds regions: the table of engines, and the scheduler that shares their work.

`table`           the engines by name, and what can be done with each
`choice`          which one "auto" takes: rules, and a probe of both
`cells`           cells by their corners and rays; up to about 5 inputs
`halfspaces`      cells by their inequalities and linear programs; any number of inputs
`wide`            few open neurons in bounded boxes and balls; hundreds of inputs and more
`shadow`          boxes with hundreds of inputs of which the network sees few combinations
`gpu`             the cells engine in the plane on a GPU
`units`           a search as a list of small parts that do not depend on who does them
`scheduler`       threads do these parts, and regions are handed out in one order
`tuning`          numbers that decide how fast a search is, never what it finds
`column_store`    columns of many batches, joined at the end
`_unit_kernels`   what the kernels of both engines share

May import `paper`, `regions` and what is below them.
"""
