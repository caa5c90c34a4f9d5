// Which task the mouse or the keyboard is at: a frame around it, its tooltip, and a choice by click.

import { el, replace } from "../dom";
import type { ECharts } from "../echarts";
import { shownTheme } from "../theme";
import type { Scene } from "./scene";
import { taskTip } from "./told";

/** Pixels beside a narrow mark that still count as on it. */
const SLACK = 2;

export function follow(
  chart: ECharts,
  stage: HTMLElement,
  scene: Scene,
  chosen: (task: number) => void,
): void {
  const frame = el("div", { class: "frame", hidden: true });
  const tooltip = el("div", { class: "floating", role: "tooltip", hidden: true });
  stage.append(frame, tooltip);
  stage.tabIndex = 0;
  stage.setAttribute("role", "group");
  let at = -1;

  const pixel = (us: number, lane: number): number[] =>
    chart.convertToPixel({ xAxisIndex: 0, yAxisIndex: 0 }, [us / 1000, lane]) as number[];

  const hide = (): void => {
    at = -1;
    frame.hidden = tooltip.hidden = true;
  };
  const show = (task: number): void => {
    at = task;
    const { rows } = scene;
    const [x0 = 0, y0 = 0] = pixel(rows.start_us[task] ?? 0, rows.lane[task] ?? 0);
    const [x1 = 0, y1 = 0] = pixel(rows.end_us[task] ?? 0, (rows.lane[task] ?? 0) + 1);
    const [first = 0] = pixel(0, 0);
    const left = Math.max(x0, Math.min(first, 40));
    const right = Math.min(Math.max(x1, left + 2), stage.clientWidth - 28);
    frame.style.transform = `translate(${left - 1}px, ${y0 - 1}px)`;
    frame.style.width = `${Math.max(3, right - left + 2)}px`;
    frame.style.height = `${Math.max(3, y1 - y0 + 1)}px`;
    frame.hidden = tooltip.hidden = false;
    replace(tooltip, taskTip(scene, task, shownTheme()));
    const { offsetWidth: w, offsetHeight: h } = tooltip;
    const x = Math.max(0, Math.min((left + right) / 2 - w / 2, stage.clientWidth - w));
    const below = y1 + 10;
    const y = below + h > stage.clientHeight && y0 - h - 10 > -160 ? y0 - h - 10 : below;
    tooltip.style.transform = `translate(${x}px, ${y}px)`;
  };

  const under = (x: number, y: number): number => {
    if (!chart.containPixel({ gridIndex: 0 }, [x, y])) return -1;
    const [ms = 0, lane = 0] = chart.convertFromPixel({ xAxisIndex: 0, yAxisIndex: 0 }, [
      x,
      y,
    ]) as number[];
    const [beside = 0] = chart.convertFromPixel({ xAxisIndex: 0, yAxisIndex: 0 }, [
      x + SLACK,
      y,
    ]) as number[];
    return scene.at(Math.floor(lane), ms * 1000, Math.abs(beside - ms) * 1000);
  };
  const mouse = chart.getZr();
  mouse.on("mousemove", ({ offsetX, offsetY }) => {
    const task = under(offsetX, offsetY);
    if (task < 0) hide();
    else if (task !== at) show(task);
  });
  mouse.on("globalout", hide);
  mouse.on("click", ({ offsetX, offsetY }) => {
    const task = under(offsetX, offsetY);
    if (task >= 0) chosen(task);
  });
  chart.on("datazoom", hide);

  const steps: Record<string, [number, number]> = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, -1],
    ArrowDown: [0, 1],
  };
  stage.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (step && scene.rows.n > 0) {
      show(at < 0 ? 0 : scene.step(at, ...step));
      event.preventDefault();
    } else if (event.key === "Enter" && at >= 0) chosen(at);
    else if (event.key === "Escape") hide();
  });
  stage.addEventListener("blur", hide);
}
