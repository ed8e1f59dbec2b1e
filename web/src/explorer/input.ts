// Mouse, fingers and keys on a picture.
import type { Point } from "../common/data.ts";
import { inSpace, type Pane } from "./pane.ts";
import { state, view } from "./state.ts";

/** What can be done to the pictures. */
export interface Actions {
  home(this: void): void;
  hover(this: void, pane: Pane, sx: number, sy: number, tell: boolean): void;
  leave(this: void): void;
  move(this: void, dx: number, dy: number): void;
  turn(this: void, dx: number, dy: number): void;
  pin(this: void, place: number[] | null): void;
  redraw(this: void): void;
  zoomAt(this: void, pane: Pane, sx: number, sy: number, factor: number): void;
}

export function listenToPointers(pane: Pane, act: Actions): void {
  const { canvas } = pane;
  const down = new Map<number, Point>();
  let moved = 0;
  const at = (event: MouseEvent): Point => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const drag = (dx: number, dy: number): void => {
    if (inSpace()) act.turn(dx, dy);
    else act.move(-dx / view.zoom, dy / view.zoom);
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    if (down.size === 0) moved = 0;
    down.set(event.pointerId, at(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = at(event);
    const before = down.get(event.pointerId);
    if (!before) {
      act.hover(pane, ...now, event.pointerType !== "touch");
      return;
    }
    pane.quiet();
    moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const spread = (p: Point): number => Math.hypot(p[0] - other[0], p[1] - other[1]);
      const middle: Point = [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2];
      act.zoomAt(pane, ...middle, spread(now) / Math.max(1, spread(before)));
      drag((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
    } else if (moved > 4) {
      drag(now[0] - before[0], now[1] - before[1]);
    }
    down.set(event.pointerId, now);
  });
  const up = (event: PointerEvent): void => {
    const clicked = down.size === 1 && moved <= 4 && event.type === "pointerup";
    down.delete(event.pointerId);
    if (!clicked) return;
    const { region, point } = pane.at(...at(event));
    act.pin(region < 0 || region === pane.pinned ? null : point);
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", act.leave);
  // Inside another page the wheel belongs to that page, until somebody clicks here.
  let awake = window.parent === window;
  canvas.addEventListener("pointerdown", () => { awake = true; });
  canvas.addEventListener("pointerleave", () => { awake = window.parent === window; });
  canvas.addEventListener("wheel", (event) => {
    if (!awake && !event.ctrlKey) return;
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 20 : 1;
    act.zoomAt(pane, ...at(event), Math.exp(-0.0018 * lines * event.deltaY));
  }, { passive: false });
}

export function listenToKeys(pane: Pane, act: Actions): void {
  const { canvas } = pane;
  const middle = (): Point => [canvas.clientWidth / 2, canvas.clientHeight / 2];
  const go = (x: number, y: number): void => {
    if (inSpace()) act.turn(-24 * x, 24 * y);
    else act.move((60 * x) / view.zoom, (60 * y) / view.zoom);
  };
  const actions: Record<string, (() => void) | undefined> = {
    ArrowLeft: () => go(-1, 0), ArrowRight: () => go(1, 0), ArrowUp: () => go(0, 1), ArrowDown: () => go(0, -1),
    "+": () => act.zoomAt(pane, ...middle(), 1.25), "=": () => act.zoomAt(pane, ...middle(), 1.25),
    "-": () => act.zoomAt(pane, ...middle(), 0.8), 0: act.home,
    Enter: () => act.pin(pane.at(...middle()).point),
  };
  canvas.addEventListener("keydown", (event) => {
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
    act.hover(pane, ...middle(), false);
    state.marked = [view.x, view.y];
  });
  canvas.addEventListener("blur", () => {
    state.marked = null;
    act.redraw();
  });
}
