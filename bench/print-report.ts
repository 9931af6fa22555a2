import Table from "cli-table3";
import pc from "picocolors";
import type { BenchReport } from "./bench.js";
import type { Machine } from "./machine.js";

/** The report as text for a terminal: tables, goals, notes. */
export function printReport(name: string, machine: Machine, report: BenchReport): string {
  const parts = [
    pc.bold(name),
    `${machine.date} · ${machine.processor}, ${machine.cores} cores, ${machine.memoryGib} GiB · ${machine.system} · Node ${machine.node} · load ${machine.loadBefore}`,
  ];
  for (const { title, columns, rows } of report.tables) {
    const table = new Table({ head: [...columns], style: { head: [], border: [] } });
    table.push(...rows.map((row) => row.map(String)));
    parts.push("", title, table.toString());
  }
  for (const { what, goal, measured, met } of report.goals) {
    parts.push(`${met ? pc.green("met   ") : pc.red("missed")} ${what}: ${measured} (goal ${goal})`);
  }
  return [...parts, ...report.notes.map((note) => `note: ${note}`), ""].join("\n");
}
