export function buildDashboard(root: string, how: { say(line: string): void }): void;
