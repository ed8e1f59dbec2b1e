// The diagram of the network, with the pattern of the region that is shown.
import { Diagram, type Skip, type WeightBlock } from "../common/diagram.ts";
import type { Numbers } from "../common/data.ts";
import { element } from "../common/dom.ts";
import type { Network } from "../common/network.ts";
import type { Cells } from "./cells.ts";
import { state } from "./state.ts";

/** Wider layers would be a wall of dots. */
const MOST_NEURONS = 40;
const MOST_LAYERS = 14;
/** Of the inputs of a network on a slice. */
const MOST_COLUMNS = 20000;

/** Whether a network can be drawn. */
export function isDrawable(cells: Cells | null): cells is Cells {
  if (!cells?.depth) return false;
  const { widths, outputs } = cells.network;
  return widths.length <= MOST_LAYERS && Math.max(...widths, outputs) <= MOST_NEURONS;
}

function blocks(network: Network): WeightBlock[] {
  const found: WeightBlock[] = [];
  network.layers.forEach((layer, k) => {
    const rows = layer.bias.length;
    for (const { source, sparse, columns, data, index, ends } of layer.terms) {
      if (source !== k || columns > MOST_COLUMNS) continue;
      const values = sparse ? new Float64Array(rows * columns) : data;
      for (let i = 0; sparse && i < rows; i++) {
        for (let j = i ? ends![i - 1] : 0; j < ends![i]; j++) values[i * columns + index![j]] = data[j];
      }
      // On a slice, the first matrix as it acts on the slice's coordinates.
      if (k === 0 && network.embedding.length !== network.inputs * (network.inputs + 1)) {
        found.push(embedded(network, values, rows, columns));
      } else {
        found.push({ from: source, to: k + 1, rows, columns, values });
      }
    }
  });
  return found;
}

function embedded(network: Network, values: Numbers, rows: number, columns: number): WeightBlock {
  const { embedding, inputs } = network;
  const product = new Float64Array(rows * inputs);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      const weight = values[i * columns + j];
      for (let k = 0; k < inputs; k++) product[i * inputs + k] += weight * embedding[j * (inputs + 1) + k];
    }
  }
  return { from: 0, to: 1, rows, columns: inputs, values: product };
}

/** The diagrams of all panes. */
export class Diagrams {
  private readonly diagrams: Diagram[] = [];
  private readonly hosts: HTMLElement[] = [];
  private readonly shown: (Cells | null)[] = [];

  constructor(private readonly box: HTMLElement, count: number, changed: () => void) {
    for (let k = 0; k < count; k++) {
      const host = element("div", undefined, "diagram-host");
      box.append(host);
      this.hosts.push(host);
      this.diagrams.push(new Diagram(host, {
        onNeuron: (neuron) => {
          if (JSON.stringify(neuron) === JSON.stringify(state.neuron)) return;
          state.neuron = neuron;
          changed();
        },
      }));
    }
  }

  /** Another network, or another pattern: null for none. */
  show(pane: number, cells: Cells | null, pattern: Uint8Array | null): void {
    const drawable = isDrawable(cells);
    this.hosts[pane].hidden = !drawable;
    this.box.hidden = this.hosts.every((host) => host.hidden);
    if (!drawable) return;
    const { network } = cells;
    const diagram = this.diagrams[pane];
    if (this.shown[pane] !== cells) {
      this.shown[pane] = cells;
      const skips: Skip[] = network.layers.flatMap((layer, k) =>
        layer.terms.filter((term) => term.source < k).map((term): Skip => [term.source, k + 1]));
      diagram.setNetwork({ widths: [cells.inputs, ...network.widths, network.outputs], skips });
      diagram.setWeights(blocks(network));
    }
    const pieces = network.layers.slice(0, -1).flatMap((layer, k) =>
      Array.from({ length: network.widths[k] }, () => layer.slopes.length / network.widths[k]));
    diagram.setPattern(pattern, pieces);
  }

  /** Other colours. */
  refresh(): void {
    for (const diagram of this.diagrams) diagram.refresh();
  }
}
