// On top of the regions: what is chosen, the decision boundary, a neuron's boundary, data points.
import { css, labelColour } from "../common/colours.ts";
import type { Pane } from "./pane.ts";
import type { Pen } from "./pen.ts";
import { page, state } from "./state.ts";

const halo = (): string => (state.dark ? "rgba(0,0,0,0.75)" : "rgba(255,255,255,0.9)");
const ink = (): string => (state.dark ? "#ffffff" : "#101018");

/** The outline of neighbours of the pinned region. */
export const neighbourColour = (): string => (state.dark ? "#ffc760" : "#d97706");
export const decisionColour = (): string => (state.dark ? "#ff79d2" : "#c9108f");
export const neuronColour = (): string => (state.dark ? "#7ee7d8" : "#0f766e");

function outline(pen: Pen, pane: Pane, region: number, colour: string, width: number): void {
  pen.beginPath();
  for (const point of pane.picture!.polygon(region)) pen.lineTo(...pane.toScreen(point));
  pen.closePath();
  pen.lineJoin = "round";
  pen.lineWidth = width + 2.5;
  pen.strokeStyle = halo();
  pen.stroke();
  pen.lineWidth = width;
  pen.strokeStyle = colour;
  pen.stroke();
}

// Outlines only: the colour of a region is its answer.
export function paintChosen(pen: Pen, pane: Pane): void {
  if (pane.pinned >= 0) {
    for (const neighbour of pane.picture!.neighbours(pane.pinned)) {
      outline(pen, pane, neighbour, neighbourColour(), 1.5);
    }
    outline(pen, pane, pane.pinned, ink(), 3);
  }
  if (pane.hovered >= 0 && pane.hovered !== pane.pinned) outline(pen, pane, pane.hovered, ink(), 1.5);
  if (state.marked) paintCross(pen, ...pane.toScreen(state.marked));
}

function paintCross(pen: Pen, x: number, y: number): void {
  pen.lineWidth = 2;
  pen.strokeStyle = ink();
  pen.beginPath();
  for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
    pen.moveTo(x + 3 * dx, y + 3 * dy);
    pen.lineTo(x + 9 * dx, y + 9 * dy);
  }
  pen.stroke();
}

function segments(pen: Pen, pane: Pane, ends: number[], colour: string, width: number): void {
  pen.beginPath();
  for (let k = 0; k < ends.length; k += 4) {
    pen.moveTo(...pane.toScreen([ends[k], ends[k + 1]]));
    pen.lineTo(...pane.toScreen([ends[k + 2], ends[k + 3]]));
  }
  pen.lineCap = "round";
  pen.lineWidth = width + 2;
  pen.strokeStyle = halo();
  pen.stroke();
  pen.lineWidth = width;
  pen.strokeStyle = colour;
  pen.stroke();
}

export function paintDecisions(pen: Pen, pane: Pane): void {
  if (state.decision) segments(pen, pane, pane.picture!.decisionBoundary, decisionColour(), 2.5);
}

/** The boundary of the neuron that is pointed at in the diagram. */
export function paintNeuron(pen: Pen, pane: Pane): void {
  const { neuron } = state;
  if (!neuron || neuron.layer > pane.picture!.depth) return;
  segments(pen, pane, pane.picture!.boundaryOf(neuron.layer, neuron.index), neuronColour(), 2.5);
}

export function paintPoints(pen: Pen, pane: Pane): void {
  if (!state.points) return;
  pen.strokeStyle = state.dark ? "#14151a" : "#ffffff";
  pen.lineWidth = 1;
  page.points.forEach((point, i) => {
    const [x, y] = pane.toScreen(point);
    if (x < -5 || y < -5 || x > pane.canvas.clientWidth + 5 || y > pane.canvas.clientHeight + 5) return;
    pen.fillStyle = page.pointLabels.length ? css(labelColour(page.pointLabels[i])) : ink();
    pen.beginPath();
    pen.arc(x, y, page.pointLabels.length ? 3.5 : 3, 0, 2 * Math.PI);
    pen.fill();
    pen.stroke();
  });
}

/** The same in space. */
export function paintSpace(pen: CanvasRenderingContext2D, pane: Pane): void {
  if (page.inputs === 3 && state.points) {
    pen.strokeStyle = state.dark ? "#14151a" : "#ffffff";
    pen.lineWidth = 1;
    page.points.forEach((point, i) => {
      const label = page.pointLabels.length ? page.pointLabels[i] : 0;
      pane.space.paintPoint(pen, point, labelColour(label));
    });
  }
  if (pane.pinned >= 0) pane.space.paintOutline(pen, pane.pinned, ink(), 2.5);
  if (pane.hovered >= 0 && pane.hovered !== pane.pinned) pane.space.paintOutline(pen, pane.hovered, ink(), 1);
}
