// On top of the regions: what is chosen, the decision boundary, data points.
import { input } from "../common/dom.ts";
import { canvas, page, state, toScreen } from "./state.ts";

function path(pen: CanvasRenderingContext2D, region: number): void {
  pen.beginPath();
  for (const point of state.picture.polygon(region)) pen.lineTo(...toScreen(point));
  pen.closePath();
}

export function paintChosen(pen: CanvasRenderingContext2D): void {
  pen.lineJoin = "round";
  const ink = state.dark ? "#ffffff" : "#101018";
  if (state.pinned >= 0) {
    for (const neighbour of state.picture.neighbours(state.pinned)) {
      path(pen, neighbour);
      pen.fillStyle = state.dark ? "rgba(255,190,70,0.32)" : "rgba(240,140,0,0.34)";
      pen.fill();
      pen.lineWidth = 1.5;
      pen.strokeStyle = state.dark ? "#ffc760" : "#c46f00";
      pen.stroke();
    }
    path(pen, state.pinned);
    pen.fillStyle = state.dark ? "rgba(143,176,255,0.55)" : "rgba(47,91,208,0.5)";
    pen.fill();
    pen.lineWidth = 3;
    pen.strokeStyle = ink;
    pen.stroke();
  }
  if (state.hovered >= 0 && state.hovered !== state.pinned) {
    path(pen, state.hovered);
    pen.lineWidth = 2.5;
    pen.strokeStyle = ink;
    pen.stroke();
  }
  if (state.marked) {
    const [x, y] = toScreen(state.marked);
    pen.lineWidth = 2;
    pen.strokeStyle = ink;
    pen.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      pen.moveTo(x + 3 * dx, y + 3 * dy);
      pen.lineTo(x + 9 * dx, y + 9 * dy);
    }
    pen.stroke();
  }
}

export function paintDecisions(pen: CanvasRenderingContext2D): void {
  if (!input("decision").checked) return;
  const ends = state.picture.decisionBoundary;
  pen.beginPath();
  for (let k = 0; k < ends.length; k += 4) {
    pen.moveTo(...toScreen([ends[k], ends[k + 1]]));
    pen.lineTo(...toScreen([ends[k + 2], ends[k + 3]]));
  }
  pen.lineCap = "round";
  pen.lineWidth = 4.5;
  pen.strokeStyle = state.dark ? "#14151a" : "#ffffff";
  pen.stroke();
  pen.lineWidth = 2.5;
  pen.strokeStyle = state.dark ? "#ff7b72" : "#d1242f";
  pen.stroke();
}

export function paintPoints(pen: CanvasRenderingContext2D): void {
  if (!input("points").checked) return;
  pen.fillStyle = state.dark ? "#ffffff" : "#101018";
  pen.strokeStyle = state.dark ? "#14151a" : "#ffffff";
  pen.lineWidth = 1;
  for (const point of page.points) {
    const [x, y] = toScreen(point);
    if (x < -5 || y < -5 || x > canvas.clientWidth + 5 || y > canvas.clientHeight + 5) continue;
    pen.beginPath();
    pen.arc(x, y, 3, 0, 2 * Math.PI);
    pen.fill();
    pen.stroke();
  }
}
