"""Inject faults (kills, failing calls, power cuts, full disks), and check for lost data."""
